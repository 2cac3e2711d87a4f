//! Ranks files and definitions by how much other files mention them.
//!
//! A mention adds to the rank of the files that define the name, divided between them. It grows with the square root of
//! how often one file mentions the name, so that no single file decides. Names that many files define are ignored.

use std::collections::HashMap;
use std::sync::Arc;

use crate::outline::Outline;

/// Maximum number of files that may define a name.
const MAX_DEFINERS: usize = 6;

/// How much other files mention each file and name.
#[derive(Debug)]
pub(super) struct Ranks {
    /// By file, in the order of the files.
    pub(super) files: Vec<f64>,
    /// By name.
    pub(super) names: HashMap<u64, f64>,
}

pub(super) fn rank(files: &[(String, Arc<Outline>)]) -> Ranks {
    let mut definers: HashMap<u64, Vec<usize>> = HashMap::new();
    for (index, (_, outline)) in files.iter().enumerate() {
        for name in outline.definitions.iter().filter_map(|defined| defined.name) {
            let files = definers.entry(name).or_default();
            if files.last() != Some(&index) {
                files.push(index);
            }
        }
    }
    let mut ranks = Ranks { files: vec![0.0; files.len()], names: HashMap::new() };
    for (index, (_, outline)) in files.iter().enumerate() {
        for (name, count) in &outline.mentions {
            let Some(defining) = definers.get(name) else { continue };
            if defining.len() > MAX_DEFINERS || defining.contains(&index) {
                continue;
            }
            let weight = f64::from(*count).sqrt() / defining.len() as f64;
            for file in defining {
                if let Some(rank) = ranks.files.get_mut(*file) {
                    *rank += weight;
                }
            }
            *ranks.names.entry(*name).or_default() += weight;
        }
    }
    ranks
}
