//! Makes finished agents from directories of this machine, with their settings, trust, tools, model and store,
//! as the command line does.

pub use lariat_service::{
    LoadOptions, LoadedProject, LocalService, Prompt, ServiceError, Session, SessionOptions, SessionSelector,
    UserDirectories, actor_critic, config, openapi, race,
};
