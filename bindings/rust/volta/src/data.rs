//! Pictures and texts from files to batches: libvolta_data.

use crate::{lent, owned, path_text, sys, Result};
use std::ffi::CString;
use std::marker::PhantomData;
use std::path::Path;
use std::ptr;

/// Sizes and choices as `volta_data.h` has them.
pub type DatasetInfo = sys::volta_dataset_info;
pub type TransformOptions = sys::volta_transform_options;

fn check(status: sys::volta_status) -> Result<()> {
    crate::error::check_with(status, || unsafe { sys::volta_data_last_error() })
}

/// What is read, and how much of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct DatasetOptions {
    /// `sys::VOLTA_SPLIT_TRAIN` or another.
    pub split: sys::volta_data_split,
    /// Of a picture; 0: 67,108,864.
    pub max_pixels: u64,
    /// Of a file; 0: 1 GiB.
    pub max_file_bytes: u64,
}

impl DatasetOptions {
    fn raw(&self) -> sys::volta_dataset_options {
        sys::volta_dataset_options {
            split: self.split,
            max_pixels: self.max_pixels,
            max_file_bytes: self.max_file_bytes,
            ..Default::default()
        }
    }
}

/// Texts of C, and what they point to.
struct Paths {
    _texts: Vec<CString>,
    pointers: Vec<*const sys::c_char>,
}

impl Paths {
    fn of<P: AsRef<Path>>(paths: &[P]) -> Result<Self> {
        let texts = paths.iter().map(path_text).collect::<Result<Vec<_>>>()?;
        let pointers = texts.iter().map(|text| text.as_ptr()).collect();
        Ok(Self { _texts: texts, pointers })
    }
}

/// Labelled pictures in files. It does not change, and any number of threads may read it at once.
pub struct Dataset {
    raw: *mut sys::volta_dataset,
}
// As volta_data.h says of data sets.
unsafe impl Send for Dataset {}
unsafe impl Sync for Dataset {}

impl Dataset {
    /// A folder, or record files one by one (`sys::VOLTA_DATA_IDX`: images, then labels).
    pub fn open<P: AsRef<Path>>(format: sys::volta_data_format, paths: &[P], options: &DatasetOptions) -> Result<Self> {
        let (paths, options, mut raw) = (Paths::of(paths)?, options.raw(), ptr::null_mut());
        check(unsafe {
            sys::volta_dataset_open(format, paths.pointers.as_ptr(), paths.pointers.len(), &options, &mut raw)
        })?;
        Ok(Self { raw })
    }
    pub fn info(&self) -> Result<DatasetInfo> {
        let mut info = DatasetInfo::default();
        check(unsafe { sys::volta_dataset_get_info(self.raw, &mut info) })?;
        Ok(info)
    }
    /// The name of a class; none: there is no such class.
    pub fn class_name(&self, index: u32) -> Option<String> {
        let name = unsafe { sys::volta_dataset_class_name(self.raw, index) };
        if name.is_null() {
            None
        } else {
            Some(unsafe { owned(name) })
        }
    }
    /// Where a sample comes from.
    pub fn sample_name(&self, index: u64) -> Result<String> {
        let mut text = [0; 4096];
        check(unsafe { sys::volta_dataset_sample_name(self.raw, index, text.as_mut_ptr(), text.len()) })?;
        Ok(unsafe { owned(text.as_ptr()) })
    }
    /// A sample as it is in its file.
    pub fn read(&self, index: u64) -> Result<Picture> {
        let mut raw = ptr::null_mut();
        check(unsafe { sys::volta_dataset_read(self.raw, index, &mut raw) })?;
        Ok(Picture { raw })
    }
}

impl Drop for Dataset {
    fn drop(&mut self) {
        unsafe { sys::volta_dataset_release(self.raw) }
    }
}

/// A picture of bytes. One thread at a time uses it.
pub struct Picture {
    raw: *mut sys::volta_picture,
}
unsafe impl Send for Picture {}

impl Picture {
    /// One JPEG or PNG file.
    pub fn open(path: impl AsRef<Path>, options: &DatasetOptions) -> Result<Self> {
        let (path, options, mut raw) = (path_text(path)?, options.raw(), ptr::null_mut());
        check(unsafe { sys::volta_picture_open(path.as_ptr(), &options, &mut raw) })?;
        Ok(Self { raw })
    }
    fn info(&self) -> Result<sys::volta_picture_info> {
        let mut info = sys::volta_picture_info::default();
        check(unsafe { sys::volta_picture_get_info(self.raw, &mut info) })?;
        Ok(info)
    }
    /// Channels, height, width.
    pub fn shape(&self) -> Result<[u32; 3]> {
        self.info().map(|info| [info.channels, info.height, info.width])
    }
    /// Its class; none: it has none.
    pub fn label(&self) -> Result<Option<u32>> {
        self.info().map(|info| u32::try_from(info.label).ok())
    }
    /// Its bytes, [channels, height, width].
    pub fn pixels(&self) -> Result<&[u8]> {
        let info = self.info()?;
        Ok(unsafe { lent(info.pixels, info.channels as usize * info.height as usize * info.width as usize) })
    }
    /// Another size, with the results of Pillow.
    pub fn resize(&self, height: u32, width: u32, filter: sys::volta_filter) -> Result<Picture> {
        let mut raw = ptr::null_mut();
        check(unsafe { sys::volta_picture_resize(self.raw, height, width, filter, &mut raw) })?;
        Ok(Picture { raw })
    }
    /// As a model takes it, [channels, height, width].
    pub fn transform(&self, options: &TransformOptions, values: &mut [f32]) -> Result<()> {
        check(unsafe { sys::volta_picture_transform(self.raw, options, values.as_mut_ptr(), values.len()) })
    }
}

impl Drop for Picture {
    fn drop(&mut self) {
        unsafe { sys::volta_picture_release(self.raw) }
    }
}

/// Files of text, one behind the other, as they are; a folder is its file of `options.split`.
pub fn read_texts<P: AsRef<Path>>(paths: &[P], options: &DatasetOptions) -> Result<Vec<u8>> {
    struct Text(*mut sys::volta_text);
    impl Drop for Text {
        fn drop(&mut self) {
            unsafe { sys::volta_text_release(self.0) }
        }
    }
    let (paths, options, mut text) = (Paths::of(paths)?, options.raw(), Text(ptr::null_mut()));
    check(unsafe { sys::volta_text_open(paths.pointers.as_ptr(), paths.pointers.len(), &options, &mut text.0) })?;
    let mut info = sys::volta_text_info::default();
    check(unsafe { sys::volta_text_get_info(text.0, &mut info) })?;
    Ok(unsafe { lent(info.bytes as *const u8, info.byte_count as usize) }.to_vec())
}

/// Which parts a folder of texts has: the sum of `1 << split`.
pub fn text_parts(folder: impl AsRef<Path>) -> Result<u32> {
    let (folder, mut parts) = (path_text(folder)?, 0);
    check(unsafe { sys::volta_text_parts(folder.as_ptr(), ptr::null(), &mut parts) })?;
    Ok(parts)
}

/// A line of JSON to fine-tune on: what it has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    pub prompt: Option<String>,
    pub completion: Option<String>,
    /// Roles and contents.
    pub messages: Vec<(String, String)>,
    pub text: Option<String>,
    pub text_pair: Option<String>,
    pub label_name: Option<String>,
    /// -1: none that is a number.
    pub label: i32,
    pub line: u64,
}

/// The documents of a text of lines of JSON; `name` is the file that sentences name.
pub fn parse_documents(name: &str, text: impl AsRef<[u8]>, options: &DatasetOptions) -> Result<Vec<Document>> {
    struct Documents(*mut sys::volta_documents);
    impl Drop for Documents {
        fn drop(&mut self) {
            unsafe { sys::volta_documents_release(self.0) }
        }
    }
    let some = |text: *const std::os::raw::c_char| if text.is_null() { None } else { Some(unsafe { owned(text) }) };
    let (name, text, options, mut documents) =
        (crate::text(name)?, text.as_ref(), options.raw(), Documents(ptr::null_mut()));
    check(unsafe {
        let bytes = text.as_ptr() as *const _;
        sys::volta_documents_parse(name.as_ptr(), bytes, text.len(), &options, &mut documents.0)
    })?;
    let count = unsafe { sys::volta_documents_count(documents.0) };
    (0..count)
        .map(|index| {
            let mut raw = sys::volta_document::default();
            check(unsafe { sys::volta_documents_get(documents.0, index, &mut raw) })?;
            let messages = unsafe { lent(raw.messages, raw.message_count) };
            Ok(Document {
                prompt: some(raw.prompt),
                completion: some(raw.completion),
                messages: messages.iter().map(|one| unsafe { (owned(one.role), owned(one.content)) }).collect(),
                text: some(raw.text),
                text_pair: some(raw.text_pair),
                label_name: some(raw.label_name),
                label: raw.label,
                line: raw.line,
            })
        })
        .collect()
}

/// Documents of so many tokens side by side in rows, each in the first that has room for it: of each row, which documents and
/// where they begin.
pub fn pack_documents(lengths: &[u64], row_tokens: u64) -> Result<Vec<Vec<(usize, u64)>>> {
    let (mut rows, mut places, mut count) = (vec![0u64; lengths.len()], vec![0u64; lengths.len()], 0u64);
    check(unsafe {
        let (to_rows, to_places) = (rows.as_mut_ptr(), places.as_mut_ptr());
        sys::volta_documents_pack(lengths.as_ptr(), lengths.len() as u64, row_tokens, ptr::null(), to_rows, to_places, &mut count)
    })?;
    let mut packed: Vec<Vec<(usize, u64)>> = vec![Vec::new(); count as usize];
    for (document, (row, place)) in rows.into_iter().zip(places).enumerate() {
        packed[row as usize].push((document, place));
    }
    Ok(packed)
}

/// `volta_loader_options`, with the transform by value.
#[derive(Clone, Copy, Default)]
pub struct LoaderOptions {
    pub transform: TransformOptions,
    /// Everything else; its pointer is ignored.
    pub numbers: sys::volta_loader_options,
}

/// Batches that its own threads load ahead. One thread at a time uses it.
pub struct Loader {
    raw: *mut sys::volta_loader,
    classes: usize,
}
unsafe impl Send for Loader {}

/// A batch, lent by its loader until that is asked for the next one.
pub struct Batch<'a> {
    raw: sys::volta_batch,
    classes: usize,
    lent: PhantomData<&'a Loader>,
}

impl Loader {
    /// Starts loading at epoch 0, batch 0. It keeps the data set.
    pub fn new(dataset: &Dataset, options: &LoaderOptions) -> Result<Self> {
        let given = sys::volta_loader_options { transform: &options.transform, ..options.numbers };
        let (classes, mut raw) = (dataset.info()?.class_count as usize, ptr::null_mut());
        check(unsafe { sys::volta_loader_create(dataset.raw, &given, &mut raw) })?;
        Ok(Self { raw, classes })
    }
    /// The next batch; after the last one of an epoch the first of the next.
    ///
    /// ```compile_fail
    /// fn two(loader: &mut volta::data::Loader) {
    ///     let first = loader.next_batch().unwrap();
    ///     let second = loader.next_batch().unwrap(); // the first is no more
    ///     println!("{} {}", first.labels().len(), second.labels().len());
    /// }
    /// ```
    pub fn next_batch(&mut self) -> Result<Batch<'_>> {
        let mut raw = sys::volta_batch::default();
        check(unsafe { sys::volta_loader_next(self.raw, &mut raw) })?;
        Ok(Batch { raw, classes: self.classes, lent: PhantomData })
    }
    /// Epoch and batch of what comes next.
    pub fn position(&self) -> Result<(u64, u64)> {
        let (mut epoch, mut batch) = (0, 0);
        check(unsafe { sys::volta_loader_get_position(self.raw, &mut epoch, &mut batch) })?;
        Ok((epoch, batch))
    }
    pub fn seek(&mut self, epoch: u64, batch: u64) -> Result<()> {
        check(unsafe { sys::volta_loader_seek(self.raw, epoch, batch) })
    }
}

impl Drop for Loader {
    fn drop(&mut self) {
        unsafe { sys::volta_loader_release(self.raw) }
    }
}

impl Batch<'_> {
    /// Samples, channels, height, width.
    pub fn shape(&self) -> [i64; 4] {
        [self.raw.count.into(), self.raw.channels.into(), self.raw.height.into(), self.raw.width.into()]
    }
    pub fn pixels(&self) -> &[f32] {
        unsafe { lent(self.raw.pixels, self.shape().iter().product::<i64>() as usize) }
    }
    pub fn labels(&self) -> &[i32] {
        unsafe { lent(self.raw.labels, self.raw.count as usize) }
    }
    /// With mixup: [samples, classes]; else none.
    pub fn weights(&self) -> Option<&[f32]> {
        if self.raw.weights.is_null() {
            return None;
        }
        Some(unsafe { lent(self.raw.weights, self.raw.count as usize * self.classes) })
    }
    /// Which samples of the data set.
    pub fn samples(&self) -> &[u64] {
        unsafe { lent(self.raw.samples, self.raw.count as usize) }
    }
    pub fn epoch(&self) -> u64 {
        self.raw.epoch
    }
    pub fn batch(&self) -> u64 {
        self.raw.batch
    }
    pub fn batches_of_epoch(&self) -> u64 {
        self.raw.batches_of_epoch
    }
    pub fn skipped(&self) -> u64 {
        self.raw.skipped
    }
}

/// The version of libvolta_data that is loaded.
pub fn version() -> String {
    unsafe { owned(sys::volta_data_version()) }
}
