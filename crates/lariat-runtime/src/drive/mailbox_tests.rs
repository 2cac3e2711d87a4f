//! Tests of the bound of the mailbox.

use super::*;

fn command() -> MailboxItem {
    MailboxItem::Queue { queue: QueueKind::Steering, message: Box::new("hello".into()) }
}

fn update() -> MailboxItem {
    MailboxItem::Progress { call: "c".into(), text: "half".to_owned() }
}

#[test]
fn full_mailbox_returns_commands_to_their_sender() {
    let mailbox = Mailbox::default();
    for sent in 0..1024 {
        assert!(mailbox.send(command()).is_ok(), "{sent}");
    }
    assert!(matches!(mailbox.send(command()), Err(MailboxItem::Queue { .. })));
    assert!(mailbox.send(update()).is_err(), "an update waits behind the commands");
    let mut context = Context::from_waker(Waker::noop());
    assert!(mailbox.poll(&mut context).is_ready());
    assert!(mailbox.send(command()).is_ok(), "one was read");
    assert_eq!(mailbox.close().len(), 1024);
    assert!(mailbox.send(command()).is_err(), "the run is over");
}

#[test]
fn updates_of_tools_take_no_place_of_commands() {
    let mailbox = Mailbox::default();
    let accepted = (0..3_000).filter(|_| mailbox.send(update()).is_ok()).count();
    assert_eq!(accepted, 1024);
    assert!(mailbox.send(command()).is_ok());
    assert_eq!(mailbox.take().len(), 1025);
}
