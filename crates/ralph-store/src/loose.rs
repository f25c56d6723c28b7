//! Loose objects read by the thousand: each file is opened, read and closed, and what inflates it is made once.
//!
//! The library's reader looks for each file first, maps it into memory and makes a decoder of some 40 KB for it. That is
//! right for single objects, and two thirds of the time that it takes to verify thousands of small ones.

use std::cell::RefCell;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::PathBuf;

use gix::hashtable::HashSet;
use gix::objs::{Data, Find, Kind};
use gix::zlib::{Inflate, Status};

use super::MAX_BLOB_BYTES;

/// Bytes of an object in which its kind and size are named.
const MAX_HEADER_BYTES: usize = 28;

/// Room for a whole file, for most of them.
const FIRST_READ_BYTES: usize = 16 * 1024;

/// The objects of a repository: its loose ones are read here, all others by the library.
pub(super) struct Objects<'a> {
    git: &'a gix::Repository,
    folder: PathBuf,
    /// The loose objects that were there at the start, without those of alternates: for others no file is looked for.
    listed: HashSet<gix::ObjectId>,
    /// The bytes of a file, and what inflates them.
    buffers: RefCell<(Vec<u8>, Inflate)>,
}

impl Find for Objects<'_> {
    fn try_find<'b>(&self, id: &gix::oid, buffer: &'b mut Vec<u8>) -> gix::Result<Option<Data<'b>>> {
        match self.read(&id.to_owned(), buffer) {
            Some(kind) => Ok(Some(Data { kind, object_hash: id.kind(), data: buffer })),
            None => self.git.objects.try_find(id, buffer),
        }
    }
}

impl<'a> Objects<'a> {
    pub fn of(git: &'a gix::Repository) -> Self {
        let folder = git.objects.store_ref().path().to_owned();
        let store = gix::odb::loose::Store::at(&folder, git.object_hash());
        let listed = store.iter().filter_map(Result::ok).collect();
        Self { git, folder, listed, buffers: RefCell::new((vec![0; FIRST_READ_BYTES], Inflate::default())) }
    }

    /// Reads an object into `to`. Returns `None` if it is not a loose one, or cannot be read: the library says why.
    fn read(&self, id: &gix::ObjectId, to: &mut Vec<u8>) -> Option<Kind> {
        if !self.listed.contains(id) {
            return None;
        }
        let (file, inflate) = &mut *self.buffers.borrow_mut();
        let length = self.read_file(id, file)?;
        let file = &file[..length];
        let mut header = [0; MAX_HEADER_BYTES];
        inflate.reset();
        let (status, consumed, written) = inflate.prefix(file, &mut header).ok()?;
        let (kind, size, body) = gix::objs::decode::loose_header(&header[..written]).ok()?;
        let size = usize::try_from(size).ok().filter(|_| size <= MAX_BLOB_BYTES)?;
        if status == Status::StreamEnd {
            to.clear();
            to.extend_from_slice(&header[body..written]);
        } else if status == Status::Ok && written.checked_sub(body)? <= size {
            inflate.rest(&file[consumed..], &header[..written], body, to, size).ok()?;
        }
        (to.len() == size).then_some(kind)
    }

    /// Reads the file of an object into `to`, which may be longer. Returns its length.
    fn read_file(&self, id: &gix::ObjectId, to: &mut Vec<u8>) -> Option<usize> {
        let name = id.to_hex().to_string();
        let (first, rest) = name.split_at(2);
        let mut file = File::open(self.folder.join(first).join(rest)).ok()?;
        let mut length = 0;
        loop {
            match file.read(&mut to[length..]) {
                Ok(0) => return Some(length),
                Ok(read) => length += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
            if length < to.len() {
                // A file of the disk gives all that it has; of another, the stream will lack its end.
                return Some(length);
            }
            to.resize(2 * length, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loose_objects_are_read_as_the_library_reads_them() {
        let folder = tempfile::tempdir().unwrap();
        let git = gix::init(folder.path()).unwrap();
        let noise: Vec<u8> =
            (0..90_000_u32).map(|i| ((i.wrapping_mul(2_654_435_761) >> 13) % 251) as u8).collect();
        let lengths = [0, 1, 15, 20, 21, 22, 28, 1_000, 16_000, 16_384, 17_000, 90_000];
        let ids = lengths.map(|length| git.write_blob(&noise[..length]).unwrap().detach());
        let loose = Objects::of(&git);
        let mut bytes = Vec::new();
        for _ in 0..2 {
            for (id, length) in ids.iter().zip(lengths) {
                assert_eq!(loose.read(id, &mut bytes), Some(Kind::Blob), "{length}");
                assert!(bytes == noise[..length], "{length}");
            }
        }
        assert_eq!(loose.read(&git.object_hash().null(), &mut bytes), None);
        // What is cut, damaged or claims another size is left to the library, which says so.
        let path = |id: &gix::ObjectId| {
            let name = id.to_hex().to_string();
            loose.folder.join(&name[..2]).join(&name[2..])
        };
        let [cut, damaged] = [ids[11], ids[8]].map(|id| path(&id));
        let written = std::fs::read(&cut).unwrap();
        std::fs::remove_file(&cut).unwrap();
        std::fs::write(&cut, &written[..written.len() / 2]).unwrap();
        std::fs::remove_file(&damaged).unwrap();
        std::fs::write(&damaged, b"no object").unwrap();
        for id in [ids[11], ids[8]] {
            assert_eq!(loose.read(&id, &mut bytes), None);
        }
        assert_eq!(loose.read(&ids[7], &mut bytes), Some(Kind::Blob));
    }
}
