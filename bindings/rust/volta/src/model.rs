use crate::error::check;
use crate::{
    asked, handle, hash_of, lent, owned, path_text, sys, text, BertOptions, Context, Error, GptOptions, Graph, LlamaOptions, Result,
    Tokenizer,
};
use std::path::Path;
use std::ptr;

handle!(
    /// A graph and its parameters.
    Model,
    volta_model,
    volta_model_release
);

/// An input, an output or a parameter. An extent of -1 is chosen per session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    pub name: String,
    pub dtype: sys::volta_dtype,
    pub shape: Vec<i64>,
}

type AskInfo = unsafe extern "C" fn(*const sys::volta_model, usize, *mut sys::volta_tensor_info) -> i32;

impl Model {
    fn made(make: impl FnOnce(*mut *mut sys::volta_model) -> i32) -> Result<Self> {
        let mut raw = ptr::null_mut();
        check(make(&mut raw))?;
        Ok(Self { raw })
    }
    /// Of a graph; parameters are drawn from the seed.
    pub fn of(graph: &Graph, seed: u64) -> Result<Self> {
        Self::made(|out| unsafe { sys::volta_model_create(graph.raw, seed, out) })
    }
    pub fn gpt(context: &Context, options: &GptOptions, seed: u64) -> Result<Self> {
        Self::made(|out| unsafe { sys::volta_model_create_gpt(context.raw, options, seed, out) })
    }
    pub fn llama(context: &Context, options: &LlamaOptions, seed: u64) -> Result<Self> {
        Self::made(|out| unsafe { sys::volta_model_create_llama(context.raw, options, seed, out) })
    }
    pub fn bert(context: &Context, options: &BertOptions, seed: u64) -> Result<Self> {
        Self::made(|out| unsafe { sys::volta_model_create_bert(context.raw, options, seed, out) })
    }
    /// A network of pictures by its name, "resnet20"; classes 0: its own.
    pub fn network(context: &Context, name: &str, classes: i64, seed: u64) -> Result<Self> {
        let name = text(name)?;
        let options = sys::volta_network_options { name: name.as_ptr(), classes, ..Default::default() };
        Self::made(|out| unsafe { sys::volta_model_create_network(context.raw, &options, seed, out) })
    }
    /// The same with its other options; their name is not looked at.
    pub fn network_with(context: &Context, name: &str, options: &sys::volta_network_options, seed: u64) -> Result<Self> {
        let name = text(name)?;
        let options = sys::volta_network_options { name: name.as_ptr(), ..*options };
        Self::made(|out| unsafe { sys::volta_model_create_network(context.raw, &options, seed, out) })
    }
    pub fn resnet(context: &Context, options: &sys::volta_resnet_options, seed: u64) -> Result<Self> {
        Self::made(|out| unsafe { sys::volta_model_create_resnet(context.raw, options, seed, out) })
    }
    /// What an ONNX file holds, as JSON, without making a model of it.
    pub fn survey(context: &Context, path: impl AsRef<Path>) -> Result<String> {
        let path = path_text(path)?;
        asked(|text, capacity, bytes| unsafe {
            sys::volta_model_survey(context.raw, path.as_ptr(), ptr::null(), text, capacity, bytes)
        })
    }
    /// The level and precision that gave the parameters their values.
    pub fn arithmetic(&self) -> Result<(sys::volta_level, sys::volta_precision)> {
        let (mut level, mut precision) = (0, 0);
        check(unsafe { sys::volta_model_get_arithmetic(self.raw, &mut level, &mut precision) })?;
        Ok((level, precision))
    }
    /// A model file, mapped: milliseconds. It must not change while the model lives.
    pub fn open(context: &Context, path: impl AsRef<Path>) -> Result<Self> {
        let path = path_text(path)?;
        Self::made(|out| unsafe { sys::volta_model_open(context.raw, path.as_ptr(), ptr::null(), out) })
    }
    /// A model file from memory, copied.
    pub fn open_bytes(context: &Context, data: &[u8]) -> Result<Self> {
        let options = sys::volta_open_options { mode: sys::VOLTA_LOAD_COPY, ..Default::default() };
        Self::made(|out| unsafe {
            sys::volta_model_open_memory(context.raw, data.as_ptr() as *const _, data.len(), &options, out)
        })
    }
    /// Weights of another program (safetensors, GGUF, llama2.c), or an ONNX file.
    pub fn import(context: &Context, path: impl AsRef<Path>) -> Result<Self> {
        let path = path_text(path)?;
        Self::made(|out| unsafe { sys::volta_model_import(context.raw, path.as_ptr(), ptr::null(), out) })
    }

    fn info(&self, ask: AskInfo, index: usize) -> Result<TensorInfo> {
        let mut info = sys::volta_tensor_info::default();
        check(unsafe { ask(self.raw, index, &mut info) })?;
        Ok(TensorInfo {
            name: unsafe { owned(info.name) },
            dtype: info.dtype,
            shape: info.shape[..info.rank as usize].to_vec(),
        })
    }
    pub fn inputs(&self) -> Result<Vec<TensorInfo>> {
        let count = unsafe { sys::volta_model_input_count(self.raw) };
        (0..count).map(|index| self.info(sys::volta_model_input_info, index)).collect()
    }
    pub fn outputs(&self) -> Result<Vec<TensorInfo>> {
        let count = unsafe { sys::volta_model_output_count(self.raw) };
        (0..count).map(|index| self.info(sys::volta_model_output_info, index)).collect()
    }
    pub fn parameters(&self) -> Result<Vec<TensorInfo>> {
        let count = unsafe { sys::volta_model_parameter_count(self.raw) };
        (0..count).map(|index| self.info(sys::volta_model_parameter_info, index)).collect()
    }
    /// A parameter's values, lent.
    pub fn parameter(&self, name: &str) -> Result<&[f32]> {
        let (name, mut data, mut count) = (text(name)?, ptr::null(), 0);
        check(unsafe { sys::volta_model_parameter(self.raw, name.as_ptr(), &mut data, &mut count) })?;
        Ok(unsafe { lent(data, count) })
    }
    pub fn set_parameter(&mut self, name: &str, values: &[f32]) -> Result<()> {
        let name = text(name)?;
        check(unsafe { sys::volta_model_set_parameter(self.raw, name.as_ptr(), values.as_ptr(), values.len()) })
    }

    /// The tokenizer that the model carries.
    pub fn tokenizer(&self) -> Result<Option<Tokenizer>> {
        let mut raw = ptr::null_mut();
        check(unsafe { sys::volta_model_get_tokenizer(self.raw, &mut raw) })?;
        Ok(if raw.is_null() { None } else { Some(Tokenizer { raw }) })
    }
    pub fn set_tokenizer(&mut self, tokenizer: &Tokenizer) -> Result<()> {
        check(unsafe { sys::volta_model_set_tokenizer(self.raw, tokenizer.raw) })
    }
    /// The format of conversations, None: none; `system` is what the system says where no message does.
    pub fn set_chat_format(&mut self, name: Option<&str>, system: Option<&str>) -> Result<()> {
        let (name, system) = (name.map(text).transpose()?, system.map(text).transpose()?);
        let name = name.as_ref().map_or(ptr::null(), |name| name.as_ptr());
        let system = system.as_ref().map_or(ptr::null(), |system| system.as_ptr());
        check(unsafe { sys::volta_model_set_chat_format(self.raw, name, system) })
    }
    /// The id that ends an answer.
    pub fn chat_end(&self) -> Result<i32> {
        let mut id = -1;
        check(unsafe { sys::volta_model_get_chat_end(self.raw, &mut id) })?;
        Ok(id)
    }
    /// The tokens of a conversation of (role, content), and of each whether it belongs to an answer. `whole`: without the
    /// beginning of the next answer.
    pub fn encode_chat(&self, messages: &[(&str, &str)], whole: bool) -> Result<(Vec<i32>, Vec<u8>)> {
        let texts = messages.iter().map(|(role, content)| Ok((text(role)?, text(content)?))).collect::<Result<Vec<_>>>()?;
        let raw: Vec<sys::volta_chat_message> = texts
            .iter()
            .map(|(role, content)| sys::volta_chat_message { role: role.as_ptr(), content: content.as_ptr() })
            .collect();
        let flags = if whole { sys::VOLTA_CHAT_WHOLE as u32 } else { 0 };
        let mut count = 0;
        let mut encode = |ids: *mut i32, answers: *mut u8, capacity: usize| {
            check(unsafe {
                sys::volta_model_encode_chat(self.raw, raw.as_ptr(), raw.len(), flags, ids, answers, capacity, &mut count)
            })
            .map(|()| count)
        };
        let length = encode(ptr::null_mut(), ptr::null_mut(), 0)?;
        let (mut ids, mut answers) = (vec![0; length], vec![0; length]);
        encode(ids.as_mut_ptr(), answers.as_mut_ptr(), length)?;
        Ok((ids, answers))
    }
    /// Free text that the model carries.
    pub fn metadata(&self, key: &str) -> Result<Option<String>> {
        let (key, mut value) = (text(key)?, ptr::null());
        check(unsafe { sys::volta_model_get_metadata(self.raw, key.as_ptr(), &mut value) })?;
        Ok(if value.is_null() { None } else { Some(unsafe { owned(value) }) })
    }
    /// None removes it.
    pub fn set_metadata(&mut self, key: &str, value: Option<&str>) -> Result<()> {
        let key = text(key)?;
        let value = value.map(text).transpose()?;
        let value = value.as_ref().map_or(ptr::null(), |value| value.as_ptr());
        check(unsafe { sys::volta_model_set_metadata(self.raw, key.as_ptr(), value) })
    }
    /// 128 bits of all parameters, as 32 hexadecimal digits.
    pub fn hash(&self) -> Result<String> {
        hash_of(|out| unsafe { sys::volta_model_hash(self.raw, out) })
    }

    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path_text(path)?;
        check(unsafe { sys::volta_model_save(self.raw, path.as_ptr()) })
    }
    /// The bytes of that file as so many files of a folder, which [`Model::open`] takes too.
    pub fn save_sharded(&self, parts: u32, folder: impl AsRef<Path>) -> Result<()> {
        let folder = path_text(folder)?;
        check(unsafe { sys::volta_model_save_sharded(self.raw, parts, folder.as_ptr()) })
    }
    pub fn export_safetensors(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path_text(path)?;
        check(unsafe { sys::volta_model_export_safetensors(self.raw, path.as_ptr()) })
    }
    /// By Hugging Face's names, with a config.json where there is a path for it.
    pub fn export_hugging_face<P: AsRef<Path>>(&self, path: impl AsRef<Path>, config: Option<P>) -> Result<()> {
        let (path, config) = (path_text(path)?, config.map(path_text).transpose()?);
        let options = sys::volta_export_options {
            names: sys::VOLTA_NAMES_HUGGING_FACE,
            config_path: config.as_ref().map_or(ptr::null(), |config| config.as_ptr()),
            ..Default::default()
        };
        check(unsafe { sys::volta_model_export_safetensors_with(self.raw, &options, path.as_ptr()) })
    }
    /// opset 13, 17, 20 or 21; 0: 13. Importing the file gives this model, bit for bit.
    pub fn export_onnx(&self, path: impl AsRef<Path>, opset: i32) -> Result<()> {
        let path = path_text(path)?;
        let options = sys::volta_onnx_export_options { opset, ..Default::default() };
        check(unsafe { sys::volta_model_export_onnx(self.raw, &options, path.as_ptr()) })
    }
    /// A GGUF file, for programs like llama.cpp: weights as they are (0) or as `sys::VOLTA_INT8` (Q8_0) or another.
    pub fn export_gguf(&self, path: impl AsRef<Path>, weights: sys::volta_dtype) -> Result<()> {
        let path = path_text(path)?;
        let options = sys::volta_gguf_export_options { weights, ..Default::default() };
        check(unsafe { sys::volta_model_export_gguf(self.raw, &options, path.as_ptr()) })
    }
    /// A model of weights stored as `sys::VOLTA_INT8` or another.
    pub fn quantize(&self, dtype: sys::volta_dtype) -> Result<Self> {
        Self::made(|out| unsafe { sys::volta_model_quantize(self.raw, dtype, out) })
    }
    /// One with adapters beside the weights of this one, its base. Nothing given: rank 8, alpha twice that, "q+v".
    pub fn add_lora(&self, rank: i64, alpha: f64, targets: Option<&str>, seed: u64) -> Result<Self> {
        let targets = targets.map(text).transpose()?;
        let options = sys::volta_lora_options {
            rank,
            alpha,
            targets: targets.as_ref().map_or(ptr::null(), |targets| targets.as_ptr()),
            seed,
            ..Default::default()
        };
        Self::made(|out| unsafe { sys::volta_model_add_lora(self.raw, &options, out) })
    }
    /// The adapters of a file on this model, its base.
    pub fn open_adapter(&self, path: impl AsRef<Path>) -> Result<Self> {
        let path = path_text(path)?;
        Self::made(|out| unsafe { sys::volta_model_open_adapter(self.raw, path.as_ptr(), ptr::null(), out) })
    }
    /// The base with the adapters added to its weights, and by how much one of these was rounded.
    pub fn merge_adapter(&self) -> Result<(Self, f64)> {
        let mut difference = 0.0;
        let made = Self::made(|out| unsafe { sys::volta_model_merge_adapter(self.raw, &mut difference, out) })?;
        Ok((made, difference))
    }
    /// As PEFT reads adapters: two files in a folder that is there.
    pub fn export_peft(&self, folder: impl AsRef<Path>) -> Result<()> {
        let folder = path_text(folder)?;
        check(unsafe { sys::volta_model_export_peft(self.raw, folder.as_ptr()) })
    }
    pub fn import_peft(&self, folder: impl AsRef<Path>) -> Result<Self> {
        let folder = path_text(folder)?;
        Self::made(|out| unsafe { sys::volta_model_import_peft(self.raw, folder.as_ptr(), out) })
    }
    pub fn replace_head(&self, classes: i64, seed: u64) -> Result<Self> {
        Self::made(|out| unsafe { sys::volta_model_replace_head(self.raw, classes, seed, out) })
    }
    pub fn fold_batch_norm(&self) -> Result<Self> {
        Self::made(|out| unsafe { sys::volta_model_fold_batch_norm(self.raw, out, ptr::null_mut()) })
    }
    /// One that ends with the states of a language model's tokens.
    pub fn hidden_states(&self) -> Result<Self> {
        Self::made(|out| unsafe { sys::volta_model_hidden_states(self.raw, out) })
    }
    /// Mean loss per token over consecutive windows.
    pub fn evaluate_tokens(&mut self, tokens: &[i32]) -> Result<f64> {
        let mut loss = 0.0;
        check(unsafe { sys::volta_model_evaluate_tokens(self.raw, tokens.as_ptr(), tokens.len(), &mut loss) })?;
        Ok(loss)
    }
}

impl std::fmt::Debug for Model {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Model({})", self.hash().unwrap_or_else(|error: Error| error.to_string()))
    }
}
