//! Images in messages: mentioned, dropped and pasted.

use crossterm::event::{Event, KeyCode, KeyModifiers};
use lariat_api::Action;
use lariat_core::content::Content;

use lariat_core::event::{AgentEvent, RecordedMessage};
use lariat_core::message::Message;
use lariat_terminal::picture::{PictureProtocol, Pictures};

use crate::fake::Fake;
use crate::kit::{PIXEL, Running};
use crate::story;

/// The texts and the images of the messages that the host received.
fn sent(fake: &Fake) -> Vec<(String, usize)> {
    let message = |action: &Action| match action {
        Action::Prompt { content, .. } => {
            let is_image = |block: &&Content| matches!(block, Content::Image { data, mime_type } if data == PIXEL && mime_type == "image/png");
            let text = content.0.iter().find_map(Content::as_text).unwrap_or_default();
            Some((text.to_owned(), content.0.iter().filter(is_image).count()))
        }
        _ => None,
    };
    fake.commands().iter().filter_map(message).collect()
}

#[tokio::test(start_paused = true)]
async fn a_message_has_the_images_that_it_mentions() {
    let fake = Fake::new();
    let client = Running::start(&fake, 80, 24);
    client.settles().await;
    client.types("compare @small.png with @missing.png");
    client.key(KeyCode::Esc);
    client.key(KeyCode::Enter);
    client.settles().await;
    assert_eq!(sent(&fake), [("compare @small.png with @missing.png".to_owned(), 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_message_whose_image_cannot_be_attached_returns_to_the_draft() {
    let fake = Fake::new();
    let client = Running::start(&fake, 80, 24);
    client.settles().await;
    client.types("look at @large.png now");
    client.key(KeyCode::Enter);
    client.settles().await;
    assert_eq!(sent(&fake), []);
    let screen = client.screen();
    assert!(screen.contains("not sent: the image is too large"), "{screen}");
    assert!(screen.contains("look at @large.png now▏"), "{screen}");
}

#[tokio::test(start_paused = true)]
async fn a_dropped_image_becomes_a_mention_and_other_text_stays_as_it_is() {
    let fake = Fake::new();
    let client = Running::start(&fake, 80, 24);
    client.settles().await;
    client.types("see ");
    client.event(Event::Paste(r"/tmp/my\ shot.png".to_owned()));
    client.event(Event::Paste("/tmp/notes.txt".to_owned()));
    client.settles().await;
    let screen = client.screen();
    assert!(screen.contains("see @\"/tmp/my shot.png\" /tmp/notes.txt▏"), "{screen}");
}

#[tokio::test(start_paused = true)]
async fn ctrl_v_attaches_the_image_in_the_clipboard() {
    let fake = Fake::new();
    let client = Running::start(&fake, 80, 24);
    client.settles().await;
    client.press(KeyCode::Char('v'), KeyModifiers::CONTROL);
    client.settles().await;
    client.types("what is this?");
    client.key(KeyCode::Enter);
    client.settles().await;
    assert_eq!(sent(&fake), [("@small.png what is this?".to_owned(), 1)]);
}

/// What a client writes for a message with an image and the reply after it.
async fn shown(pictures: Option<Pictures>, is_full_screen: bool) -> (String, String) {
    let fake = Fake::new();
    let client = Running::start_with(&fake, 80, 24, |options| options.setup.theme.pictures = pictures);
    client.settles().await;
    if is_full_screen {
        client.key(KeyCode::F(11));
        client.settles().await;
    }
    let image = Content::Image { data: PIXEL.to_owned(), mime_type: "image/png".to_owned() };
    let mut user = Message::user("what is this?");
    if let Message::User(user) = &mut user {
        user.content.push(image);
    }
    let message = RecordedMessage::Full(story::message(1, user));
    fake.happens(AgentEvent::MessageEnd { message }, |_| {});
    story::replies(&fake, 2, "A pixel.");
    client.settles().await;
    (client.written(), client.screen())
}

#[tokio::test(start_paused = true)]
async fn a_picture_is_drawn_once_above_the_rows_that_follow() {
    let (written, screen) = shown(Some(Pictures::new(PictureProtocol::Kitty, None)), false).await;
    assert_eq!(written.matches("\u{1b}_Ga=T,f=100,q=2,C=1,c=1,r=1,m=0;").count(), 1);
    assert!(screen.contains("› what is this?\n  [image/png]\n\n\nA pixel."), "{screen}");
}

#[tokio::test(start_paused = true)]
async fn a_terminal_without_pictures_and_full_screen_get_a_line() {
    let (written, screen) = shown(None, false).await;
    assert!(!written.contains(PIXEL) && screen.contains("[image/png]\n\nA pixel."), "{screen}");
    let (written, screen) = shown(Some(Pictures::new(PictureProtocol::Kitty, None)), true).await;
    assert!(!written.contains(PIXEL) && screen.contains("[image/png]\n\nA pixel."), "{screen}");
}
