use crate::error::check;
use crate::{handle, path_text, sys, Context, Result};
use std::ffi::CStr;
use std::path::Path;
use std::ptr;

handle!(
    /// Text to ids and back.
    Tokenizer,
    volta_tokenizer,
    volta_tokenizer_release
);

impl Tokenizer {
    fn made(make: impl FnOnce(*mut *mut sys::volta_tokenizer) -> i32) -> Result<Self> {
        let mut raw = ptr::null_mut();
        check(make(&mut raw))?;
        Ok(Self { raw })
    }
    /// 256 tokens, one per byte.
    pub fn bytes(context: &Context) -> Result<Self> {
        Self::made(|out| unsafe { sys::volta_tokenizer_create_byte(context.raw, out) })
    }
    /// The distinct characters of a text.
    pub fn characters(context: &Context, text: &str) -> Result<Self> {
        Self::made(|out| unsafe {
            sys::volta_tokenizer_create_char(context.raw, text.as_ptr() as *const _, text.len(), out)
        })
    }
    /// Learns byte-level BPE of so many ids.
    pub fn train_bpe(context: &Context, text: &[u8], vocabulary: i32) -> Result<Self> {
        Self::made(|out| unsafe {
            sys::volta_tokenizer_train_bpe(context.raw, text.as_ptr() as *const _, text.len(), vocabulary, out)
        })
    }
    /// One of another program: GGUF, llama2.c, GPT-2's, BERT's, tokenizer.json.
    pub fn open(context: &Context, path: impl AsRef<Path>) -> Result<Self> {
        let path = path_text(path)?;
        Self::made(|out| unsafe {
            sys::volta_tokenizer_open(context.raw, path.as_ptr(), sys::VOLTA_TOKENIZER_AUTO, out)
        })
    }
    /// "byte", "char", "bpe", "spm", "wordpiece".
    pub fn kind(&self) -> &str {
        unsafe { CStr::from_ptr(sys::volta_tokenizer_kind(self.raw)) }.to_str().unwrap_or("")
    }
    /// How many ids there are.
    pub fn size(&self) -> i32 {
        unsafe { sys::volta_tokenizer_size(self.raw) }
    }
    pub fn encode(&self, text: impl AsRef<[u8]>) -> Result<Vec<i32>> {
        let (text, mut count) = (text.as_ref(), 0);
        let mut encode = |ids: *mut i32, capacity: usize| {
            check(unsafe {
                sys::volta_tokenizer_encode(self.raw, text.as_ptr() as *const _, text.len(), ids, capacity, &mut count)
            })
            .map(|()| count)
        };
        let mut ids = vec![0; encode(ptr::null_mut(), 0)?];
        encode(ids.as_mut_ptr(), ids.len())?;
        Ok(ids)
    }
    /// The same with bos and eos (`ends`), or control pieces that become their ids (`special`).
    pub fn encode_with(&self, text: impl AsRef<[u8]>, ends: bool, special: bool) -> Result<Vec<i32>> {
        let (text, mut count) = (text.as_ref(), 0);
        let options = sys::volta_encode_options { ends: ends as i32, special: special as i32, ..Default::default() };
        let mut encode = |ids: *mut i32, capacity: usize| {
            let (bytes, length) = (text.as_ptr() as *const _, text.len());
            check(unsafe {
                sys::volta_tokenizer_encode_with(self.raw, &options, bytes, length, ids, capacity, &mut count)
            })
            .map(|()| count)
        };
        let mut ids = vec![0; encode(ptr::null_mut(), 0)?];
        encode(ids.as_mut_ptr(), ids.len())?;
        Ok(ids)
    }
    /// Two texts beside each other, with ends, and of each id its segment: 0 for those of the first text and what ends it,
    /// 1 behind. At most `max_tokens` ids, where that is not 0.
    pub fn encode_pair(
        &self,
        text: impl AsRef<[u8]>,
        pair: impl AsRef<[u8]>,
        max_tokens: usize,
    ) -> Result<(Vec<i32>, Vec<i32>)> {
        let (text, pair, mut count) = (text.as_ref(), pair.as_ref(), 0);
        let mut options = sys::volta_encode_options {
            ends: 1,
            pair: pair.as_ptr() as *const _,
            pair_bytes: pair.len(),
            max_tokens,
            ..Default::default()
        };
        let mut encode = |options: &sys::volta_encode_options, ids: *mut i32, capacity: usize| {
            let (bytes, length) = (text.as_ptr() as *const _, text.len());
            check(unsafe {
                sys::volta_tokenizer_encode_with(self.raw, options, bytes, length, ids, capacity, &mut count)
            })
            .map(|()| count)
        };
        let whole = encode(&options, ptr::null_mut(), 0)?;
        let (mut ids, mut segments) = (vec![0; whole], vec![0; whole]);
        options.segments = segments.as_mut_ptr();
        encode(&options, ids.as_mut_ptr(), ids.len())?;
        Ok((ids, segments))
    }
    /// The bytes of one id by itself.
    pub fn piece(&self, id: i32) -> Result<&[u8]> {
        let (mut piece, mut bytes) = (ptr::null(), 0);
        check(unsafe { sys::volta_tokenizer_decode(self.raw, id, &mut piece, &mut bytes) })?;
        Ok(unsafe { crate::lent(piece as *const u8, bytes) })
    }
    /// Ids that stand for no text; -1: there is none.
    pub fn special(&self) -> Result<sys::volta_special_ids> {
        let mut ids = sys::volta_special_ids::default();
        check(unsafe { sys::volta_tokenizer_special(self.raw, &mut ids) })?;
        Ok(ids)
    }
    /// The bytes of a text that these ids are.
    pub fn decode(&self, ids: &[i32]) -> Result<Vec<u8>> {
        let (mut text, mut previous) = (Vec::new(), -1);
        for &id in ids {
            let (mut piece, mut bytes) = (ptr::null(), 0);
            check(unsafe { sys::volta_tokenizer_decode_after(self.raw, previous, id, &mut piece, &mut bytes) })?;
            text.extend_from_slice(unsafe { crate::lent(piece as *const u8, bytes) });
            previous = id;
        }
        Ok(text)
    }
}
