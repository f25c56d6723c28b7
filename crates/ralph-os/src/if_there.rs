//! What is not there, told from what failed.

use std::io::{self, ErrorKind};

/// Of looking at, opening or removing something by its path.
pub trait IfThere<T> {
    /// Returns `None` if nothing is at the path.
    fn if_there(self) -> io::Result<Option<T>>;
}

impl<T> IfThere<T> for io::Result<T> {
    fn if_there(self) -> io::Result<Option<T>> {
        match self {
            Ok(found) => Ok(Some(found)),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_no_error_and_all_else_is() {
        assert_eq!(Ok::<_, io::Error>(7).if_there().unwrap(), Some(7));
        for kind in [ErrorKind::NotFound, ErrorKind::NotADirectory] {
            assert!(Err::<(), _>(io::Error::from(kind)).if_there().unwrap().is_none());
        }
        assert!(Err::<(), _>(io::Error::from(ErrorKind::PermissionDenied)).if_there().is_err());
    }
}
