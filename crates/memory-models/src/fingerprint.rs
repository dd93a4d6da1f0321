//! Short content hashes for fingerprints. They tell versions of a model apart; they are no defence against forgery.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use memory_core::{Error, ErrorKind, Result};
use sha2::{Digest, Sha256};

/// Files up to this size are hashed whole, larger ones by evenly spaced samples: a fingerprint is needed at every
/// start, and reading a model of some hundred megabytes would dominate it.
const WHOLE: u64 = 4 << 20;
const SAMPLES: u64 = 64;
const SAMPLE_BYTES: u64 = 16 << 10;

/// FNV-1a over 8-byte words with a final mix: 4 MB in about a millisecond.
pub(crate) fn of_bytes(bytes: &[u8]) -> u64 {
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let mut hash = 0xcbf2_9ce4_8422_2325 ^ (bytes.len() as u64);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        hash = (hash ^ u64::from_le_bytes(*word)).wrapping_mul(PRIME);
        hash ^= hash >> 29;
    }
    for byte in rest {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(PRIME);
    }
    hash ^ (hash >> 32)
}

/// The first 8 bytes of SHA-256 over each file's name, size and content (samples of it when large), in hexadecimal.
/// Files that do not exist count as absent.
pub(crate) fn of_files(directory: &Path, names: &[&str]) -> Result<String> {
    let mut digest = Sha256::new();
    for name in names {
        let path = directory.join(name);
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(unreadable(&path, error)),
        };
        digest.update(name.as_bytes());
        sample(&mut file, &mut digest).map_err(|error| unreadable(&path, error))?;
    }
    Ok(digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect())
}

fn sample(file: &mut File, digest: &mut Sha256) -> std::io::Result<()> {
    let size = file.metadata()?.len();
    digest.update(size.to_le_bytes());
    if size <= WHOLE {
        let mut content = Vec::new();
        file.read_to_end(&mut content)?;
        digest.update(&content);
        return Ok(());
    }
    let mut block = vec![0; SAMPLE_BYTES as usize];
    for number in 0..SAMPLES {
        file.seek(SeekFrom::Start((size - SAMPLE_BYTES) * number / (SAMPLES - 1)))?;
        file.read_exact(&mut block)?;
        digest.update(&block);
    }
    Ok(())
}

fn unreadable(path: &Path, error: std::io::Error) -> Error {
    Error::new(ErrorKind::Storage, format!("cannot read {}", path.display())).with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_and_the_length_count() {
        let original: Vec<u8> = (0..67).collect();
        let hash = of_bytes(&original);
        for position in 0..original.len() {
            let mut changed = original.clone();
            changed[position] ^= 1;
            assert_ne!(of_bytes(&changed), hash, "byte {position}");
        }
        assert_ne!(of_bytes(&[0; 8]), of_bytes(&[0; 16]));
    }

    #[test]
    fn a_file_is_known_by_its_content() {
        let directory = tempfile::tempdir().unwrap();
        let names = ["small", "large", "absent"];
        let mut large = vec![7u8; 5 << 20];
        std::fs::write(directory.path().join("small"), "a").unwrap();
        std::fs::write(directory.path().join("large"), &large).unwrap();
        let first = of_files(directory.path(), &names).unwrap();
        assert_eq!(first.len(), 16);
        assert_eq!(of_files(directory.path(), &names).unwrap(), first);
        *large.last_mut().unwrap() = 8;
        std::fs::write(directory.path().join("large"), &large).unwrap();
        let second = of_files(directory.path(), &names).unwrap();
        assert_ne!(second, first);
        std::fs::write(directory.path().join("small"), "b").unwrap();
        assert_ne!(of_files(directory.path(), &names).unwrap(), second);
    }
}
