//! The mailbox of a run: an item that was accepted is delivered once, in the order of its sender, and wakes the reader.

use ::std::future::poll_fn;
use ::std::sync::Arc;

use shuttle::future::block_on;
use shuttle::thread;

use super::mailbox::{Mailbox, MailboxItem};

/// Items of each sender.
const ITEMS: usize = 2;
/// The senders.
const SENDERS: [&str; 2] = ["a", "b"];

/// An item of a sender, whose name is that of the tool call.
fn item(sender: &str, number: usize) -> MailboxItem {
    // Every other one is a command, because those are counted.
    if number.is_multiple_of(2) {
        MailboxItem::Progress { call: sender.into(), text: number.to_string() }
    } else {
        MailboxItem::WithdrawQuestion { call: sender.into() }
    }
}

/// The sender of an item, and whether it is its first.
fn sender(item: &MailboxItem) -> (String, bool) {
    match item {
        MailboxItem::Progress { call, .. } => (call.to_string(), true),
        MailboxItem::WithdrawQuestion { call } => (call.to_string(), false),
        other => panic!("no scenario sends {other:?}"),
    }
}

/// Starts the senders. Each returns the number of its accepted items.
fn start(mailbox: &Arc<Mailbox>) -> Vec<thread::JoinHandle<usize>> {
    let senders = SENDERS.into_iter().map(|name| {
        let mailbox = Arc::clone(mailbox);
        thread::spawn(move || (0..ITEMS).filter(|number| mailbox.send(item(name, *number)).is_ok()).count())
    });
    senders.collect()
}

/// A reader that waits gets all items, those of a sender in their order.
pub(crate) fn every_item_reaches_the_reader_in_the_order_of_its_sender() {
    let mailbox = Arc::new(Mailbox::default());
    let senders = start(&mailbox);
    let mut read = Vec::new();
    for _ in 0..ITEMS * SENDERS.len() {
        read.push(sender(&block_on(poll_fn(|context| mailbox.poll(context)))));
    }
    for name in SENDERS {
        let order: Vec<bool> =
            read.iter().filter(|(from, _)| from == name).map(|(_, first)| *first).collect();
        assert_eq!(order, [true, false], "{read:?}");
    }
    let accepted: usize = senders.into_iter().filter_map(|sender| sender.join().ok()).sum();
    assert_eq!(accepted, ITEMS * SENDERS.len());
}

/// A mailbox that is closed at any time loses no accepted item.
pub(crate) fn an_item_is_read_left_over_or_returned_to_its_sender() {
    let mailbox = Arc::new(Mailbox::default());
    let senders = start(&mailbox);
    let mut kept = mailbox.take().len();
    thread::yield_now();
    kept += mailbox.close().len();
    let accepted: usize = senders.into_iter().filter_map(|sender| sender.join().ok()).sum();
    assert_eq!(kept, accepted);
    assert_eq!(mailbox.take().len(), 0);
}
