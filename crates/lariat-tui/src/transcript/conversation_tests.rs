use super::*;

fn id(number: u128) -> MessageId {
    serde_json::from_value(serde_json::json!(format!("00000000-0000-0000-0000-{number:012}"))).unwrap()
}

fn texts(conversation: &Conversation) -> Vec<String> {
    conversation.user_messages().into_iter().map(|(_, text)| text).collect()
}

fn sample() -> Conversation {
    let mut conversation = Conversation::default();
    conversation.push(id(1), Some("one".to_owned()));
    conversation.push(id(2), None);
    conversation.push(id(3), Some("two".to_owned()));
    conversation.push(id(4), None);
    conversation
}

#[test]
fn lists_messages_of_current_branch() {
    let mut conversation = sample();
    assert_eq!(texts(&conversation), ["one", "two"]);
    conversation.rewind(Some(id(2)));
    conversation.push(id(5), Some("three".to_owned()));
    assert_eq!(texts(&conversation), ["one", "three"]);
    // Back to the branch that was left.
    conversation.rewind(Some(id(4)));
    assert_eq!(texts(&conversation), ["one", "two"]);
    conversation.rewind(None);
    assert!(texts(&conversation).is_empty());
}

#[test]
fn unknown_tip_changes_nothing() {
    let mut conversation = sample();
    conversation.rewind(Some(id(9)));
    assert_eq!(texts(&conversation), ["one", "two"]);
}

#[test]
fn removed_message_is_not_listed() {
    let mut conversation = sample();
    conversation.remove(id(3));
    assert_eq!(texts(&conversation), ["one"]);
    assert_eq!(conversation.before(id(4)), Some(id(2)));
    assert_eq!(conversation.last_user_message(id(4)), Some("one"));
}
