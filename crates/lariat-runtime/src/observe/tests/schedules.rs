//! Random interleavings of appending, publishing, subscribing, reading and consuming, each from a seed.
//!
//! The journal is the reference. For every subscription: its durable events are exactly those from its first
//! position on; each live event is delivered exactly between the durable ones it was published between; the
//! chunks of a message have no gap.

use lariat_core::event::RecordedMessage;
use lariat_core::message::{AgentMessage, LlmMessage, Message};

use super::*;

const SEEDS: u64 = 2_000;
const STEPS: u64 = 300;
const OBSERVERS: usize = 4;

/// A subscription and what it must deliver next.
struct Observer {
    subscription: Subscription,
    capacity: usize,
    next: u64,
    /// The last delivered chunk: its message and its number.
    chunk: Option<(u128, u64)>,
}

impl Observer {
    fn take(&mut self, event: &Event, seed: u64) {
        if event.is_durable() {
            assert_eq!(event.seq, self.next, "seed {seed}: durable events by seq, each once");
            self.next += 1;
            return;
        }
        let Some(chunks) = event.event.text_delta() else { return };
        for chunk in chunks.split_terminator(';') {
            let fields: Vec<u64> = chunk.split(',').map(|field| field.parse().unwrap()).collect();
            let (message, number, published, known) =
                (fields[0].into(), fields[1], fields[2], fields[3] == 1);
            assert!(published <= self.next, "seed {seed}: a live event before an earlier durable one");
            assert!(!known || published == self.next, "seed {seed}: a live event after a later durable one");
            if let Some((last_message, last_number)) = self.chunk
                && last_message == message
            {
                assert_eq!(number, last_number + 1, "seed {seed}: a gap in a message");
            }
            self.chunk = Some((message, number));
        }
    }

    fn poll(&mut self, seed: u64) -> bool {
        let event = match poll(&mut self.subscription) {
            Some(event) => event.unwrap_or_else(|closed| panic!("seed {seed}: {closed}")),
            None => return false,
        };
        self.take(&event, seed);
        true
    }
}

struct Schedule {
    seed: u64,
    state: u64,
    session: Session,
    observers: Vec<Observer>,
    message: u64,
    chunks: u64,
}

impl Schedule {
    fn new(seed: u64) -> Self {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let session = Session::with_history(random(&mut state) % 4 * 100);
        session.store.reads().delays = random(&mut state) | 1;
        session.store.reads().serialised = seed.is_multiple_of(16);
        Self { seed, state, session, observers: Vec::new(), message: 0, chunks: 0 }
    }

    fn random(&mut self, below: u64) -> u64 {
        random(&mut self.state) % below
    }

    fn step(&mut self) {
        match self.random(20) {
            0..3 => self.append(),
            3..7 => {
                self.session.publish_next();
            }
            7..11 => self.publish_chunk(),
            11 => self.session.live(progress("a", "x")),
            12 if self.observers.len() < OBSERVERS => self.subscribe(),
            13 if self.random(4) == 0 && !self.observers.is_empty() => {
                let index = self.random(self.observers.len() as u64) as usize;
                drop(self.observers.swap_remove(index));
            }
            _ => self.consume(),
        }
        for observer in &self.observers {
            assert!(observer.subscription.queue().len() <= observer.capacity, "seed {}", self.seed);
        }
    }

    fn append(&mut self) {
        if self.random(3) > 0 {
            return self.session.append(turn());
        }
        let message =
            LlmMessage { id: message_id(self.message.into()), turn_id: None, message: Message::user("x") };
        let message = RecordedMessage::Full(Arc::new(AgentMessage::Llm(message)));
        self.session.append(AgentEvent::MessageEnd { message });
        (self.message, self.chunks) = (self.message + 1, 0);
    }

    /// Publishes a chunk that contains its number, the published position, and whether the hub knows that
    /// position.
    fn publish_chunk(&mut self) {
        let (message, published) = (self.message, self.session.published);
        let known = u8::from(format!("{:?}", self.session.hub).contains("published: Some"));
        self.session.live(text(message.into(), format!("{message},{},{published},{known};", self.chunks)));
        self.chunks += 1;
    }

    fn subscribe(&mut self) {
        let capacity = 1 + self.random(6) as usize;
        let published = self.session.published as u64;
        let (subscription, next) = if self.random(2) == 0 {
            (self.session.hub.subscribe(capacity), published)
        } else {
            let from = self.random(published + 3);
            (self.session.hub.subscribe_from(capacity, from), from)
        };
        self.observers.push(Observer { subscription, capacity, next, chunk: None });
    }

    fn consume(&mut self) {
        if self.observers.is_empty() {
            return;
        }
        let index = self.random(self.observers.len() as u64) as usize;
        for _ in 0..=self.random(12) {
            self.observers[index].poll(self.seed);
        }
    }

    fn finish(mut self) {
        self.subscribe();
        while self.session.publish_next() {}
        self.session.hub.close();
        let head = self.session.next_seq();
        for observer in &mut self.observers {
            drain(&mut observer.subscription).iter().for_each(|event| observer.take(event, self.seed));
            assert_eq!(
                observer.subscription.end_reason(),
                Some(&SubscriptionEnd::Ended),
                "seed {}",
                self.seed
            );
            assert!(observer.next >= head, "seed {}: all delivered", self.seed);
        }
    }
}

#[test]
fn no_schedule_of_publishing_and_polling_loses_repeats_or_reorders_events() {
    for seed in 0..SEEDS {
        let mut schedule = Schedule::new(seed);
        (0..STEPS).for_each(|_| schedule.step());
        schedule.finish();
    }
}
