//! The pages of the terminal UI that come from this machine: what other commands print, as text.

use std::path::PathBuf;

use lariat_api::{ProblemCode, SessionView};
use lariat_core::BoxFuture;
use lariat_service::{LoadOptions, LoadedProject};
use lariat_tui::pages::{Page, Pages};

use super::{compact, doctor, mcp, openapi, permissions, print, sessions};
use crate::exit::Exit;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

/// Characters of an id in a file name.
const ID: usize = 8;

/// Makes pages from the settings and sessions of this machine.
pub(crate) struct LocalPages {
    env: ProcessEnv,
    /// How the settings of the directory are loaded.
    loading: LoadOptions,
}

impl LocalPages {
    pub(crate) const fn new(env: ProcessEnv, loading: LoadOptions) -> Self {
        Self { env, loading }
    }

    async fn text(&self, page: &Page, view: Option<&SessionView>, width: usize) -> Result<String, Problem> {
        if *page == Page::Doctor {
            return Ok(doctor::report(&self.env, &self.loading).await);
        }
        let place = self.env.load_project(&self.loading)?;
        let opened = || {
            view.ok_or_else(|| Problem::new(Exit::Session, "the session is not open yet").hint("try again"))
        };
        match page {
            Page::Permissions => {
                let rules =
                    permissions::rules_text(&self.env, &place, view.map_or("", |view| &view.mode), width)?;
                Ok(format!("{rules}\nThe list does not include approvals for this session only.\n"))
            }
            Page::Servers => Ok(mcp::page(&self.env.service(&place).await?.mcp_servers(&place).await)),
            Page::Apis => Ok(openapi::page(&self.env.service(&place).await?.openapis(&place))),
            Page::Compaction { focus } => {
                compact::preview_text(&self.env, &place, &opened()?.session_id, focus.as_deref()).await
            }
            Page::Export { path } => self.export(&place, opened()?, path.as_deref()).await,
            _ => Err(Problem::new(Exit::Failed, "this version does not have the page")),
        }
    }

    async fn export(
        &self,
        place: &LoadedProject,
        view: &SessionView,
        path: Option<&str>,
    ) -> Result<String, Problem> {
        let id: String = view.session_id.as_str().chars().take(ID).collect();
        let name = path.map_or_else(|| PathBuf::from(format!("lariat-{id}.session")), PathBuf::from);
        let path = place.path().join(name);
        let service = self.env.service(place).await?;
        let bytes = sessions::export_file(&service, &view.session_id, &path).await?;
        let size = print::size(bytes);
        Ok(format!("wrote {size} to {}; `lariat sessions import` reads it", path.display()))
    }
}

impl Pages for LocalPages {
    fn page<'a>(
        &'a self,
        page: &'a Page,
        session: Option<&'a SessionView>,
        width: usize,
    ) -> BoxFuture<'a, Result<String, lariat_api::Problem>> {
        Box::pin(async move {
            self.text(page, session, width).await.map_err(|problem| {
                let place = problem.place.map(|place| format!(" ({place})")).unwrap_or_default();
                let shown =
                    lariat_api::Problem::new(ProblemCode::Invalid, format!("{}{place}", problem.cause));
                match problem.hint {
                    Some(hint) => shown.with_hint(hint),
                    None => shown,
                }
            })
        })
    }
}
