//! The table of actions.

/// Where an action has its keys. The same key may do something else in another scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The session and the screen. The composer gets a key first.
    Session,
    /// The draft of the next message.
    Composer,
    /// A list to pick from.
    Picker,
    /// A text to page through.
    Pager,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct ActionRow {
    /// The action.
    pub action: Action,
    /// Its name in settings.
    pub name: &'static str,
    /// Where its keys apply.
    pub scope: Scope,
    /// Its default keys, the preferred one first.
    pub keys: &'static [&'static str],
    /// What it does, as an imperative sentence without a period.
    pub description: &'static str,
}

/// Makes the enum and its table from one list.
macro_rules! actions {
    ($($scope:ident { $($action:ident $name:literal [$($key:literal),*] $description:literal;)* })*) => {
        /// What a key can do.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Action {
            $($(#[doc = $description] $action,)*)*
        }

        /// Every action, in the order of the help.
        pub const fn actions() -> &'static [ActionRow] {
            const ROWS: &[ActionRow] = &[$($(ActionRow {
                action: Action::$action,
                name: $name,
                scope: Scope::$scope,
                keys: &[$($key),*],
                description: $description,
            },)*)*];
            ROWS
        }
    };
}

actions! {
    Session {
        Interrupt "interrupt" ["esc"] "Interrupt the run";
        Rewind "rewind" ["esc esc"] "Rewind to an earlier message";
        FocusAsk "focus_ask" ["ctrl+y"] "Answer the question that waits";
        NextMode "next_mode" ["shift+tab"] "Switch to the next permission mode";
        Details "details" ["ctrl+o"] "Show or hide details of tool calls and thinking";
        Tasks "tasks" ["alt+t"] "Show or hide the tasks of the agent";
        Pager "pager" ["ctrl+t"] "Open the transcript";
        FullScreen "full_screen" ["f11", "alt+z"] "Switch between inline and full screen";
        EditQueue "edit_queue" ["alt+q"] "Edit queued messages";
        Help "help" ["f1", "?"] "Show this help (`?` only while the draft is empty)";
        Redraw "redraw" ["ctrl+l"] "Redraw the screen";
        Suspend "suspend" ["ctrl+z"] "Suspend the program";
        Cancel "cancel" ["ctrl+c"] "Clear the draft; twice: quit";
        Quit "quit" ["ctrl+d"] "Quit while the draft is empty";
    }
    Composer {
        Submit "submit" ["enter"] "Send the message; steers a run";
        Queue "queue" ["alt+enter"] "Queue the message until the run ends";
        Newline "newline" ["shift+enter", "ctrl+j"] "Insert a line break (or `\\` and Enter)";
        Complete "complete" ["tab"] "Complete a command or a file";
        Editor "editor" ["ctrl+g", "ctrl+x ctrl+e"] "Edit the draft in $EDITOR";
        PasteImage "paste_image" ["ctrl+v"] "Attach the image in the clipboard";
        HistorySearch "history_search" ["ctrl+r"] "Search the messages sent before";
        Up "up" ["up", "ctrl+p"] "Move up; from the first row: earlier message";
        Down "down" ["down", "ctrl+n"] "Move down; from the last row: later message";
        Left "left" ["left", "ctrl+b"] "Move left";
        Right "right" ["right", "ctrl+f"] "Move right";
        WordLeft "word_left" ["ctrl+left", "alt+b", "alt+left"] "Move one word left";
        WordRight "word_right" ["ctrl+right", "alt+f", "alt+right"] "Move one word right";
        LineStart "line_start" ["home", "ctrl+a"] "Move to the start of the line";
        LineEnd "line_end" ["end", "ctrl+e"] "Move to the end of the line";
        TextStart "text_start" ["ctrl+home", "alt+<"] "Move to the start of the draft";
        TextEnd "text_end" ["ctrl+end", "alt+>"] "Move to the end of the draft";
        DeleteLeft "delete_left" ["backspace", "ctrl+h", "shift+backspace"] "Delete to the left";
        DeleteRight "delete_right" ["delete", "ctrl+d"] "Delete to the right";
        CutWordLeft "cut_word_left" ["ctrl+w", "alt+backspace", "ctrl+backspace"] "Cut the word to the left";
        CutWordRight "cut_word_right" ["alt+d", "ctrl+delete"] "Cut the word to the right";
        CutLineStart "cut_line_start" ["ctrl+u"] "Cut to the start of the line";
        CutLineEnd "cut_line_end" ["ctrl+k"] "Cut to the end of the line";
        Yank "yank" ["alt+y"] "Insert what was cut; again: what was cut before";
        Undo "undo" ["ctrl+_"] "Undo";
        Redo "redo" ["alt+_"] "Redo";
    }
    Picker {
        PickerUp "picker_up" ["up", "ctrl+p"] "Move up";
        PickerDown "picker_down" ["down", "ctrl+n"] "Move down";
        PickerPageUp "picker_page_up" ["pageup"] "Move one page up";
        PickerPageDown "picker_page_down" ["pagedown"] "Move one page down";
        PickerFirst "picker_first" ["home"] "Move to the first item";
        PickerLast "picker_last" ["end"] "Move to the last item";
        PickerChoose "picker_choose" ["enter"] "Choose the item";
        PickerClose "picker_close" ["esc", "ctrl+c"] "Close";
    }
    Pager {
        PagerUp "pager_up" ["up", "k"] "Scroll one line up";
        PagerDown "pager_down" ["down", "j", "enter"] "Scroll one line down";
        PagerPageUp "pager_page_up" ["pageup", "b"] "Scroll one page up";
        PagerPageDown "pager_page_down" ["pagedown", "space", "f"] "Scroll one page down";
        PagerHalfUp "pager_half_up" ["u", "ctrl+u"] "Scroll half a page up";
        PagerHalfDown "pager_half_down" ["d", "ctrl+d"] "Scroll half a page down";
        PagerFirst "pager_first" ["g", "home"] "Go to the start";
        PagerLast "pager_last" ["G", "end"] "Go to the end";
        PagerSearch "pager_search" ["/"] "Search";
        PagerNext "pager_next" ["n"] "Go to the next match";
        PagerPrevious "pager_previous" ["N"] "Go to the previous match";
        PagerCopy "pager_copy" ["y"] "Copy the rows on the screen";
        PagerCopyAll "pager_copy_all" ["Y"] "Copy everything";
        PagerClose "pager_close" ["q", "esc", "ctrl+c"] "Close";
    }
}
