//! Functions of your program that the loop calls at fixed points.

pub use lariat_core::hooks::{
    FilterResult, Flow, HookAnswer, HookInterest, Hooks, InputFilter, LifecycleEvent, LifecycleEventKind,
    SessionHooks,
};
