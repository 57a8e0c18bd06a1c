//! Which file systems can hold a store: not those of a network, whose locks and shared memory do not
//! reach other machines.

use std::path::Path;

use towpath_core::StoreErrorKind;

use crate::error::Fault;

/// What a file system is to a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FsKind {
    /// It belongs to this machine, or nothing is known against it.
    Local,
    /// It is shared over a network: SQLite's write-ahead log cannot work on it.
    Network(&'static str),
}

/// The kind of a file system, from the `f_type` that Linux gives in `statfs`.
///
/// FUSE passes: it may be anything, and most of it is local.
///
/// ```
/// use towpath_sqlite::{FsKind, fs_kind};
/// assert_eq!(fs_kind(0xEF53), FsKind::Local);
/// assert_eq!(fs_kind(0x6969), FsKind::Network("NFS"));
/// ```
pub fn fs_kind(f_type: i64) -> FsKind {
    // Some platforms give the number as 32 bits with a sign.
    match f_type & 0xffff_ffff {
        0x6969 => FsKind::Network("NFS"),
        0x517b => FsKind::Network("SMB"),
        0xff53_4d42 => FsKind::Network("CIFS"),
        0xfe53_4d42 => FsKind::Network("SMB2"),
        0x0102_1997 => FsKind::Network("9p"),
        0x5346_414f | 0x6b41_4653 => FsKind::Network("AFS"),
        0x00c3_6400 => FsKind::Network("Ceph"),
        0x7375_7245 => FsKind::Network("Coda"),
        0x564c => FsKind::Network("NCP"),
        0x0bd0_0bd0 => FsKind::Network("Lustre"),
        _ => FsKind::Local,
    }
}

/// Refuses a folder on a network file system, or on one that is mounted read-only: SQLite would only say that it
/// cannot open a file. A folder that cannot be looked at is let pass.
pub(crate) fn check(folder: &Path) -> Result<(), Fault> {
    let is_read_only =
        rustix::fs::statvfs(folder).is_ok_and(|status| status.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY));
    if is_read_only {
        return Err(Fault::Refused(
            StoreErrorKind::ReadOnly,
            format!(
                "the file system of {} is mounted read-only: mount it writable, or put the store elsewhere",
                folder.display()
            ),
        ));
    }
    match kind_of(folder) {
        FsKind::Local => Ok(()),
        FsKind::Network(name) => Err(Fault::Refused(
            StoreErrorKind::Unsupported,
            format!(
                "{} is on a network file system ({name}), where several writers would corrupt the file: \
                 put it on a local disk, or use PostgreSQL",
                folder.display()
            ),
        )),
    }
}

#[cfg(target_os = "linux")]
fn kind_of(folder: &Path) -> FsKind {
    #[allow(clippy::unnecessary_cast, reason = "the type of `f_type` differs from platform to platform")]
    rustix::fs::statfs(folder).map_or(FsKind::Local, |stat| fs_kind(stat.f_type as i64))
}

#[cfg(not(target_os = "linux"))]
fn kind_of(_folder: &Path) -> FsKind {
    FsKind::Local
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_known_and_local_ones_pass() {
        for (f_type, name) in [(0x6969, "NFS"), (0x517b, "SMB"), (0xff53_4d42, "CIFS"), (0xfe53_4d42, "SMB2")] {
            assert_eq!(fs_kind(f_type), FsKind::Network(name));
        }
        assert_eq!(fs_kind(0x0102_1997), FsKind::Network("9p"));
        assert_eq!(fs_kind(i64::from(0xff53_4d42_u32 as i32)), FsKind::Network("CIFS"), "sign-extended");
        let (ext4, tmpfs, fuse, btrfs) = (0xef53, 0x0102_1994, 0x6573_5546, 0x9123_683e);
        for f_type in [ext4, tmpfs, fuse, btrfs] {
            assert_eq!(fs_kind(f_type), FsKind::Local);
        }
    }
}
