//! The files of the project: read and written without following a link out of it. The feature, its task list and the prompt's
//! template are such files.

pub mod feature;
pub mod project_files;
pub mod prompt;
pub mod tasks;
