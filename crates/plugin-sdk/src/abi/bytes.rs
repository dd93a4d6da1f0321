//! Bytes across the interface: borrowed slices and owned buffers.

use std::ptr;

use super::{Buf, Slice};

/// The most bytes a message may have: 64 MiB.
pub const LARGEST_PAYLOAD: usize = 64 << 20;

impl Slice {
    /// Lends bytes. The slice must not outlive them.
    pub fn new(bytes: &[u8]) -> Self {
        Self { ptr: bytes.as_ptr(), len: bytes.len() }
    }

    /// The bytes behind it.
    ///
    /// # Safety
    /// Pointer and length describe memory that stays valid and unchanged for `'a`.
    pub unsafe fn bytes<'a>(self) -> &'a [u8] {
        if self.ptr.is_null() || self.len == 0 {
            return &[];
        }
        // SAFETY: the caller vouches for pointer, length and lifetime.
        unsafe { std::slice::from_raw_parts(self.ptr, self.len) }
    }

    /// The text behind it, with replacement characters where it is not UTF-8.
    ///
    /// # Safety
    /// As [`Slice::bytes`].
    pub unsafe fn text(self) -> String {
        // SAFETY: the caller vouches for it.
        String::from_utf8_lossy(unsafe { self.bytes() }).into_owned()
    }
}

impl Buf {
    /// Nothing.
    pub fn empty() -> Self {
        Self { ptr: ptr::null_mut(), len: 0, cap: 0, free: None }
    }

    /// Takes the bytes out and releases the buffer; `None` when it claims to hold more than [`LARGEST_PAYLOAD`].
    ///
    /// # Safety
    /// The buffer comes from the other side and has not been released.
    pub unsafe fn take(self) -> Option<Vec<u8>> {
        // SAFETY: the other side vouches for its buffer until `free` is called.
        let bytes =
            (self.len <= LARGEST_PAYLOAD).then(|| unsafe { Slice { ptr: self.ptr, len: self.len }.bytes() }.to_vec());
        if let Some(free) = self.free {
            // SAFETY: the buffer is released once, with its own function and its own fields.
            unsafe { free(self.ptr, self.len, self.cap) };
        }
        bytes
    }
}

impl From<Vec<u8>> for Buf {
    fn from(bytes: Vec<u8>) -> Self {
        if bytes.capacity() == 0 {
            return Self::empty();
        }
        let mut bytes = std::mem::ManuallyDrop::new(bytes);
        Self { ptr: bytes.as_mut_ptr(), len: bytes.len(), cap: bytes.capacity(), free: Some(free_vector) }
    }
}

/// Releases what [`Buf::from`] made.
unsafe extern "C" fn free_vector(ptr: *mut u8, len: usize, cap: usize) {
    if !ptr.is_null() {
        // SAFETY: the three parts come from the vector taken apart in `Buf::from`, and come back once.
        drop(unsafe { Vec::from_raw_parts(ptr, len, cap) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_whole_and_nothing_stays_nothing() {
        for bytes in [b"".to_vec(), vec![0, 1, 255], "记忆 🧠".as_bytes().to_vec()] {
            // SAFETY: the buffer was just made and is taken once.
            assert_eq!(unsafe { Buf::from(bytes.clone()).take() }, Some(bytes));
        }
        let null = Slice { ptr: ptr::null(), len: 7 };
        // SAFETY: a null pointer is read as nothing.
        assert_eq!(unsafe { null.bytes() }, b"");
    }

    #[test]
    fn an_absurd_length_is_not_believed() {
        let absurd = Buf { ptr: ptr::dangling_mut(), len: usize::MAX / 2, cap: 0, free: None };
        // SAFETY: the pointer is not read, because the length is out of bounds.
        assert_eq!(unsafe { absurd.take() }, None);
    }
}
