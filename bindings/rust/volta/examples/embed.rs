//! Embeddings: a line of text in, a line of numbers out. Of any language model: the mean of its tokens' states, of length 1, so that
//! the product of two vectors says how alike their texts are.
//!     embed MODEL.volta      reads standard input, writes standard output

use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use volta::{Context, Model, Session, Tensor, Tokenizer, View};

const MOST_TOKENS: usize = 512;

struct Embedder {
    context: Context,
    tokenizer: Tokenizer,
    states: Model,                     // tokens in, states out
    sessions: HashMap<usize, Session>, // one for each length, made when a text first has it
}

impl Embedder {
    fn new(path: &str) -> volta::Result<Option<Self>> {
        let context = Context::new()?;
        let model = Model::open(&context, path)?;
        let states = model.hidden_states()?;
        Ok(model.tokenizer()?.map(|tokenizer| Self { context, tokenizer, states, sessions: HashMap::new() }))
    }

    fn embed(&mut self, text: &[u8]) -> volta::Result<Vec<f32>> {
        let mut tokens = self.tokenizer.encode(text)?;
        tokens.truncate(MOST_TOKENS); // the beginning of a long text
        let count = tokens.len();
        if !self.sessions.contains_key(&count) {
            self.sessions.insert(count, Session::new(&self.states, &[&[1, count as i64]])?);
        }
        let session = self.sessions.get_mut(&count).expect("it was made");
        let x = View::of(&self.context, &tokens, &[1, count as i64])?;
        let mut y = Tensor::zeros::<f32>(&self.context, &session.output_shape(0)?)?;
        session.run_one(&x, &mut y)?;

        let hidden = y.as_slice::<f32>();
        let width = hidden.len() / count;
        let mut vector = vec![0.0f32; width];
        let mut square = 0.0;
        for (j, one) in vector.iter_mut().enumerate() {
            let sum = (0..count).fold(0.0, |sum, i| sum + f64::from(hidden[i * width + j]));
            *one = (sum / count as f64) as f32;
            square += f64::from(*one) * f64::from(*one);
        }
        for one in &mut vector {
            *one = (f64::from(*one) / square.sqrt()) as f32;
        }
        Ok(vector)
    }
}

/// A number as "%.6g" of C has it.
fn six_digits(number: f32) -> String {
    let scientific = format!("{:.5e}", number); // d.ddddde<exponent>
    let (digits, exponent) = scientific.split_once('e').expect("an exponent");
    let exponent: i32 = exponent.parse().expect("a number");
    let short = |text: &str| {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_string()
        } else {
            text.to_string()
        }
    };
    if !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", short(digits), exponent.abs());
    }
    short(&format!("{:.*}", (5 - exponent).max(0) as usize, number))
}

fn serve(embedder: &mut Embedder) -> io::Result<()> {
    let mut out = io::stdout();
    for line in io::stdin().lock().split(b'\n') {
        let line = line?;
        let answer = if line.is_empty() {
            "error: an empty line".to_string()
        } else {
            match embedder.embed(&line) {
                Ok(vector) => vector.iter().map(|one| six_digits(*one)).collect::<Vec<_>>().join(" "),
                Err(error) => format!("error: {error}"), // an answer, not the end
            }
        };
        writeln!(out, "{answer}")?;
    }
    Ok(())
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() != 2 {
        eprintln!("usage: embed MODEL.volta");
        std::process::exit(2);
    }
    let failed = match Embedder::new(&arguments[1]) {
        Ok(Some(mut embedder)) => serve(&mut embedder).err().map(|error| error.to_string()),
        Ok(None) => Some(format!("{} has no tokenizer", arguments[1])),
        Err(error) => Some(error.to_string()),
    };
    if let Some(text) = failed {
        eprintln!("embed: {text}");
        std::process::exit(1);
    }
}
