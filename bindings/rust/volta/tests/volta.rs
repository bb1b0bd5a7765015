//! The life cycle in Rust: ownership, lent memory, errors, callbacks.

use std::sync::mpsc::{channel, Receiver, Sender};
use volta::{
    sys, Attribute, Cancel, CaptureOptions, Compiled, Context, Flow, Generator, GeneratorOptions, GptOptions, Graph,
    Group, GroupOptions, Model, Operand, Optimizer, OptimizerOptions, Parameter, Session, Status, Tape, TapeTensor, Tensor, Tokenizer,
    Trainer, TrainerOptions, View, WriteOptions,
};

const TEXT: &str = "It was the best of times, it was the worst of times, it was the age of wisdom";

fn small_gpt(context: &Context) -> (Model, Tokenizer) {
    let tokenizer = Tokenizer::characters(context, TEXT).unwrap();
    let sizes = GptOptions {
        vocabulary: tokenizer.size().into(),
        layers: 1,
        dim: 16,
        heads: 2,
        context: 16,
        ..Default::default()
    };
    let mut model = Model::gpt(context, &sizes, 1).unwrap();
    model.set_tokenizer(&tokenizer).unwrap();
    (model, tokenizer)
}

fn trained(context: &Context, steps: usize) -> (Model, Trainer) {
    let (model, tokenizer) = small_gpt(context);
    let options = TrainerOptions {
        input_shapes: vec![vec![4, 16]],
        numbers: sys::volta_trainer_options { learning_rate: 1e-2, seed: 3, ..Default::default() },
        ..Default::default()
    };
    let mut trainer = Trainer::new(&model, &options).unwrap();
    trainer.set_tokens(&tokenizer.encode(TEXT).unwrap()).unwrap();
    for _ in 0..steps {
        trainer.step_tokens().unwrap();
    }
    (model, trainer)
}

fn perceptron(context: &Context) -> Model {
    let mut graph = Graph::new(context).unwrap();
    let x = graph.input::<f32>("x", &[2, 3]).unwrap();
    let y = graph.linear("fc", x, 4).unwrap();
    let y = graph.apply("relu", &[y], &[]).unwrap();
    assert_eq!(graph.shape(y).unwrap(), [2, 4]);
    graph.output("y", y).unwrap();
    Model::of(&graph, 7).unwrap()
}

#[test]
fn one_result_on_any_thread_count_and_instruction_set() {
    let hash = |threads, isa| trained(&Context::with(threads, isa).unwrap(), 5).1.hash().unwrap();
    let first = hash(1, sys::VOLTA_ISA_SCALAR);
    assert_eq!(first, hash(2, sys::VOLTA_ISA_AUTO));
    assert_eq!(first.len(), 32);
}

#[test]
fn long_calls_end_when_they_are_asked_to() {
    let context = Context::new().unwrap();
    let (mut model, tokenizer) = small_gpt(&context);
    let tokens = tokenizer.encode(TEXT.repeat(300)).unwrap();
    let pair = Tokenizer::bytes(&context).unwrap().encode_pair("ab", "cde", 4).unwrap();
    assert_eq!(pair, (vec![97, 98, 99, 100], vec![0, 0, 1, 1]));
    let cancel = Cancel::new();
    cancel.request();
    let ended = context.until(&cancel, 0.0, || model.evaluate_tokens(&tokens)).unwrap();
    assert_eq!(ended.unwrap_err().status(), Status::Cancelled);
    let late = context.until(&Cancel::new(), 0.001, || model.evaluate_tokens(&tokens)).unwrap();
    assert_eq!(late.unwrap_err().status(), Status::Cancelled);
    assert!(model.evaluate_tokens(&tokens[..100]).unwrap() > 0.0); // nothing asks it any more
}

#[test]
fn resumes_exactly_and_drops_in_any_order() {
    let folder = std::env::temp_dir().join(format!("volta-rust-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("half.volta");
    let context = Context::new().unwrap();
    let whole = trained(&context, 9).1.hash().unwrap();
    let (model, mut trainer) = trained(&context, 4);
    trainer.save(&path).unwrap();
    drop((model, context)); // the trainer keeps what it needs
    trainer.step_tokens().unwrap();

    let context = Context::new().unwrap();
    let checkpoint = Model::open(&context, &path).unwrap();
    let mut resumed = Trainer::resume(&checkpoint).unwrap();
    let tokens = checkpoint.tokenizer().unwrap().unwrap().encode(TEXT).unwrap();
    resumed.set_tokens(&tokens).unwrap();
    assert_eq!(resumed.current_step(), 4);
    for _ in 0..5 {
        resumed.step_tokens().unwrap();
    }
    assert_eq!(resumed.hash().unwrap(), whole);

    let (parts, sharded) = (folder.join("parts"), folder.join("sharded"));
    checkpoint.save_sharded(2, &parts).unwrap();
    assert_eq!(Model::open(&context, &parts).unwrap().hash().unwrap(), checkpoint.hash().unwrap());
    resumed.save_sharded(&sharded).unwrap();
    assert_eq!(Model::open(&context, &sharded).unwrap().hash().unwrap(), whole);
    assert!(checkpoint.save_sharded(0, &parts).unwrap_err().to_string().contains("parts is 0"));

    let onnx = folder.join("half.onnx");
    checkpoint.export_onnx(&onnx, 17).unwrap();
    assert_eq!(Model::import(&context, &onnx).unwrap().hash().unwrap(), checkpoint.hash().unwrap());
    let gguf = folder.join("half.gguf");
    assert!(checkpoint.export_gguf(&gguf, sys::VOLTA_I32).unwrap_err().to_string().contains("weights is"));
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A trainer of two shards, of `group`.
fn sharded(context: &Context, group: Option<&Group>) -> volta::Result<Trainer> {
    let (model, tokenizer) = small_gpt(context);
    let options = TrainerOptions {
        input_shapes: vec![vec![4, 16]],
        group: group.cloned(),
        numbers: sys::volta_trainer_options { learning_rate: 1e-2, seed: 3, shards: 2, ..Default::default() },
        ..Default::default()
    };
    let mut trainer = Trainer::new(&model, &options)?;
    trainer.set_tokens(&tokenizer.encode(TEXT)?)?;
    Ok(trainer)
}

fn steps(mut trainer: Trainer) -> (u32, String) {
    let losses: Vec<_> = (0..3).map(|_| trainer.step_tokens().unwrap().loss).collect();
    (losses[2].to_bits(), trainer.hash().unwrap())
}

#[test]
fn two_ranks_train_as_one() {
    let context = Context::new().unwrap();
    let trainer = sharded(&context, None).unwrap();
    assert_eq!(trainer.rows().unwrap(), 0..8);
    let whole = steps(trainer);
    let alone = Group::over(&context, 0, 1, |_, _, _| unreachable!()).unwrap();
    assert_eq!((alone.rank(), alone.size()), (0, 1));
    assert_eq!(steps(sharded(&context, Some(&alone)).unwrap()), whole);

    let ((to_second, of_first), (to_first, of_second)) = (channel(), channel());
    let ends = [(to_second, of_second), (to_first, of_first)];
    let start = |(rank, (out, into)): (u32, (Sender<Vec<u8>>, Receiver<Vec<u8>>))| {
        std::thread::spawn(move || {
            let context = Context::with(1, sys::VOLTA_ISA_AUTO).unwrap();
            let exchange = move |peer: u32, send: &[u8], receive: &mut [u8]| {
                out.send(send.to_vec()).map_err(|_| format!("rank {peer} is gone"))?;
                let came = into.recv().map_err(|_| format!("rank {peer} is gone"))?;
                receive.copy_from_slice(&came);
                Ok(())
            };
            let group = Group::over(&context, rank, 2, exchange).unwrap();
            let trainer = sharded(&context, Some(&group)).unwrap();
            drop(group); // the trainer has it
            let first = u64::from(rank) * 4;
            assert_eq!(trainer.rows().unwrap(), first..first + 4);
            assert_eq!(trainer.options().unwrap().group.unwrap().size(), 2);
            steps(trainer)
        })
    };
    let ranks: Vec<_> = (0..).zip(ends).map(start).collect();
    for rank in ranks {
        assert_eq!(rank.join().unwrap(), whole);
    }
}

#[test]
fn groups_say_what_is_wrong() {
    let context = Context::new().unwrap();
    let unknown = GroupOptions { transport: "pigeons".to_string(), ..Default::default() };
    assert!(Group::join(&context, &unknown).err().unwrap().to_string().contains("pigeons"));
    let gone = Group::over(&context, 1, 2, |peer, _, _| Err(format!("rank {peer} is gone"))).unwrap();
    for _ in 0..2 {
        let error = sharded(&context, Some(&gone)).err().unwrap();
        assert_eq!(error.status(), Status::IoError);
        assert!(error.to_string().contains("rank 0 is gone"), "{error}");
    }
    let broken = Group::over(&context, 1, 2, |_, _, _| panic!("of the exchange")).unwrap();
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| sharded(&context, Some(&broken)).map(drop)));
    assert_eq!(panic.unwrap_err().downcast_ref::<&str>(), Some(&"of the exchange"));
}

#[test]
fn runs_and_trains_on_slices() {
    let context = Context::new().unwrap();
    let mut model = perceptron(&context);
    let mut session = Session::new(&model, &[]).unwrap();
    let input = [1f32, 2., 3., 4., 5., 6.];
    let mut output = [0f32; 8];
    {
        let x = View::of(&context, &input, &[2, 3]).unwrap();
        let mut y = Tensor::over(&context, &mut output, &[2, 4]).unwrap();
        session.run_one(&x, &mut y).unwrap();
        assert_eq!(y.shape(), session.output_shape(0).unwrap());
    }
    let weight = model.parameter("fc.weight").unwrap();
    for row in 0..2 {
        for j in 0..4 {
            let sum: f32 = (0..3).map(|k| input[3 * row + k] * weight[4 * k + j]).sum();
            assert!((output[4 * row + j] - sum.max(0.)).abs() < 1e-5);
        }
    }
    let options = TrainerOptions {
        numbers: sys::volta_trainer_options { loss: sys::VOLTA_LOSS_MSE, ..Default::default() },
        ..Default::default()
    };
    let (bill, cost) = Trainer::estimate(&model, &options, None).unwrap();
    let steps = Trainer::estimate_steps(&model, &options).unwrap();
    assert!(steps.iter().map(|step| step.alive).max().unwrap() <= bill.activations);
    assert!(steps.iter().any(|step| step.operation == "matmul" && step.part == sys::VOLTA_PLAN_FORWARD));
    assert_eq!(steps.last().unwrap().part, sys::VOLTA_PLAN_UPDATE);
    let folder = std::env::temp_dir().to_str().unwrap().to_string();
    let in_file = TrainerOptions {
        state_folder: Some(folder.clone()),
        numbers: sys::volta_trainer_options { activation_budget: cost.smallest_activations, ..options.numbers },
        ..options.clone()
    };
    let mut trainer = Trainer::new(&model, &in_file).unwrap();
    assert_eq!(trainer.options().unwrap().state_folder, Some(folder));
    assert_eq!(trainer.bill().unwrap().optimizer_state, 0);
    let x = View::of(&context, &input, &[2, 3]).unwrap();
    let mut targets = Tensor::zeros::<f32>(&context, &[2, 4]).unwrap();
    targets.as_mut_slice::<f32>().fill(1.0);
    let first = trainer.step(&[&x], &targets).unwrap().loss;
    let last = (0..20).map(|_| trainer.step(&[&x], &targets).unwrap().loss).last().unwrap();
    assert!(last < first);
    assert_eq!(trainer.gradient("fc.bias").unwrap().len(), 4);
    assert!(bill.optimizer_state > 0);
    trainer.update_model(&mut model).unwrap();
    assert_eq!(trainer.hash().unwrap(), model.hash().unwrap());
    let mut other = perceptron(&context);
    assert_eq!(trainer.update_model(&mut other).unwrap_err().status(), Status::InvalidArgument);
}

#[test]
fn writes_text() {
    let context = Context::new().unwrap();
    let (model, tokenizer) = small_gpt(&context);
    let mut generator = Generator::new(&model, &GeneratorOptions { sequences: 3, ..Default::default() }).unwrap();
    generator.start(&tokenizer.encode("It").unwrap()).unwrap();
    let mut text = Vec::new();
    let result = generator
        .write(&WriteOptions { max_tokens: 5, ..Default::default() }, |piece, _| {
            text.extend_from_slice(piece);
            Flow::Go
        })
        .unwrap();
    assert_eq!((result.reason, result.token_count), (sys::VOLTA_STOP_MAX_TOKENS, 5));
    assert_eq!(text.len() as u64, result.text_bytes);

    generator.start(&tokenizer.encode("It").unwrap()).unwrap();
    assert_eq!(generator.tokens().map(|token| token.unwrap()).count(), 14); // of 16 that the context holds

    let cancel = Cancel::new();
    cancel.request();
    generator.start(&tokenizer.encode("It").unwrap()).unwrap();
    let options = WriteOptions { cancel: Some(cancel), ..Default::default() };
    assert_eq!(generator.write(&options, |_, _| Flow::Go).unwrap().reason, sys::VOLTA_STOP_CANCELLED);

    let (mut one, mut two) = (generator.sequence(None).unwrap(), generator.sequence(None).unwrap());
    one.append(&tokenizer.encode("was").unwrap()).unwrap();
    two.append(&tokenizer.encode("the").unwrap()).unwrap();
    let tokens = generator.step(&mut [&mut one, &mut two]).unwrap();
    assert_eq!((one.tokens().unwrap()[3], two.tokens().unwrap()[3]), (tokens[0], tokens[1]));
}

#[test]
#[should_panic(expected = "mine")]
fn a_panic_goes_past_the_library() {
    let context = Context::new().unwrap();
    let (model, tokenizer) = small_gpt(&context);
    let mut generator = Generator::new(&model, &Default::default()).unwrap();
    generator.start(&tokenizer.encode("It").unwrap()).unwrap();
    let _ = generator.write(&Default::default(), |_, _| panic!("mine"));
}

#[test]
fn failures_carry_status_and_sentence() {
    let context = Context::new().unwrap();
    let error = Model::open(&context, "/nowhere/x.volta").unwrap_err();
    assert_eq!(error.status(), Status::IoError);
    assert!(error.to_string().contains("/nowhere/x.volta"));
    let mut graph = Graph::new(&context).unwrap();
    let x = graph.input::<f32>("x", &[2, 3]).unwrap();
    let error = graph.apply("transpose", &[x], &[Attribute::Integers("permutation", &[0, 2])]).unwrap_err();
    assert_eq!(error.status(), Status::ShapeMismatch);
    let error = graph.linear("a\0b", x, 4).unwrap_err();
    assert_eq!((error.status(), error.to_string().as_str()), (Status::InvalidArgument, "\"a\\0b\" has a zero byte"));
    let error = View::of(&context, &[1f32; 5], &[2, 3]).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "5 elements are not a tensor of [2, 3]");
    assert_eq!(volta::version(), "0.1.0");
}

#[test]
fn host_tensors() {
    let context = Context::new().unwrap();
    let mut x = Tensor::zeros::<f32>(&context, &[2, 3]).unwrap();
    let mut y = Tensor::zeros::<f32>(&context, &[2, 3]).unwrap();
    x.arange(1.0, 0.5).unwrap();
    y.fill(2.0).unwrap();
    assert_eq!(x.text().unwrap(), "[[1.  1.5 2. ]\n [2.5 3.  3.5]]");
    let report = x.compare(&y, 0.0, 0.0).unwrap();
    assert_eq!((report.is_equal, report.differing, report.largest_absolute), (0, 5, 1.5));
    y.random(volta::Init::Uniform(0.0, 1.0), 7, 0).unwrap();
    let path = std::env::temp_dir().join(format!("volta-rust-{}.npz", std::process::id()));
    volta::save_tensors(&context, &path, &[("y", &y), ("x", &x)]).unwrap();
    let read = volta::Tensors::open(&context, &path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!((read.len(), read.is_empty(), read.name(2)), (2, false, None));
    for (index, (name, expected)) in [("x", &x), ("y", &y)].iter().enumerate() {
        let tensor = read.get(index).unwrap();
        assert_eq!(read.name(index).as_deref(), Some(*name));
        assert_eq!(tensor.as_slice::<f32>(), expected.as_slice::<f32>());
        assert_eq!(expected.compare(&tensor, 0.0, 0.0).unwrap().is_equal, 1);
    }
    assert!(read.get(2).is_none());
    assert_eq!(volta::Tensors::open(&context, &path).err().unwrap().status(), Status::IoError);
}

/// Six rows of four numbers, a class for each, and a weight that is learned.
fn rows_classes_weight(context: &Context) -> (Tensor<'static>, Tensor<'static>, Parameter) {
    let mut x = Tensor::zeros::<f32>(context, &[6, 4]).unwrap();
    let mut classes = Tensor::zeros::<i32>(context, &[6]).unwrap();
    let mut weight = Tensor::zeros::<f32>(context, &[4, 3]).unwrap();
    x.random(volta::Init::Uniform(-1.0, 1.0), 5, 0).unwrap();
    classes.as_mut_slice().copy_from_slice(&[0, 1, 2, 0, 1, 2]);
    weight.random(volta::Init::Normal(0.3), 5, 1).unwrap();
    (x, classes, Parameter::new(weight).unwrap())
}

fn loss_of<'t>(
    tape: &'t Tape,
    x: &Tensor<'static>,
    classes: &Tensor<'static>,
    weight: &Parameter,
) -> volta::Result<TapeTensor<'t>> {
    let logits = tape.apply("matmul", &[x, weight], &[])?;
    let losses = tape.apply("cross_entropy", &[&logits, classes], &[])?;
    tape.apply("mean", &[&losses], &[])
}

fn trained_on(context: &Context, mut tape: Tape) -> (Vec<f32>, Vec<f32>) {
    let (x, classes, weight) = rows_classes_weight(context);
    let options = OptimizerOptions { learning_rate: 0.05, ..Default::default() };
    let mut optimizer = Optimizer::new(&tape, &options, &[&weight]).unwrap();
    let losses = (1..=8)
        .map(|step| {
            optimizer.zero_grad().unwrap();
            let loss = loss_of(&tape, &x, &classes, &weight).unwrap();
            loss.backward().unwrap();
            let report = tape.step(&mut optimizer).unwrap();
            assert_eq!((report.step, report.loss), (step, loss.item().unwrap() as f32));
            assert!(tape.reset().unwrap().is_empty());
            report.loss
        })
        .collect();
    assert_eq!(tape.info().unwrap().records, 8);
    assert!(tape.report(true).unwrap().contains("\"segments\":"));
    assert!(tape.report(false).unwrap().contains("tests/volta.rs:"));
    drop((tape, optimizer));
    (losses, weight.values())
}

#[test]
fn a_tape_trains_to_the_same_bits_in_both_modes() {
    let context = Context::with(2, sys::VOLTA_ISA_AUTO).unwrap();
    let (losses, weight) = trained_on(&context, Tape::eager(&context).unwrap());
    assert!(losses[7] < losses[0]);
    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    let lazy = trained_on(&context, Tape::lazy(&context).unwrap());
    assert_eq!((bits(&losses), bits(&weight)), (bits(&lazy.0), bits(&lazy.1)));
}

#[test]
fn a_tape_keeps_detaches_and_adds_gradients_up() {
    let context = Context::new().unwrap();
    let (x, classes, mut weight) = rows_classes_weight(&context);
    let four = Tensor::zeros::<f32>(&context, &[4]).unwrap();
    for mut tape in [Tape::eager(&context).unwrap(), Tape::lazy(&context).unwrap()] {
        let loss = loss_of(&tape, &x, &classes, &weight).unwrap();
        assert!(weight.grad().unwrap().is_none());
        loss.backward().unwrap();
        let first = weight.grad().unwrap().unwrap();
        loss.backward().unwrap();
        assert_eq!(weight.grad().unwrap().unwrap(), first.iter().map(|value| value + value).collect::<Vec<_>>());
        let norm = tape.apply_several("layer_norm", &[&x, &four, &four], &[Attribute::Number("epsilon", 1e-3)], 3);
        let norm = norm.unwrap();
        assert_eq!((norm[0].shape(), norm[1].shape()), (vec![6, 4], vec![6]));
        let expected = norm[1].values::<f32>().unwrap();
        norm[1].keep().unwrap();
        norm[1].keep().unwrap(); // no second time
        loss.keep().unwrap();
        let value = loss.item().unwrap();
        assert!(weight.require_grad(false).unwrap_err().to_string().contains("a record holds the tensor"));
        let kept = tape.reset().unwrap();
        assert_eq!((kept.len(), kept[0].as_slice::<f32>()), (2, &expected[..]));
        assert_eq!(f64::from(kept[1].as_slice::<f32>()[0]), value);
        weight.zero_grad().unwrap();

        let nested = || tape.without_gradients(|| ()).and_then(|()| loss_of(&tape, &x, &classes, &weight));
        let loss = tape.without_gradients(nested).unwrap().unwrap();
        let same = tape.detach(&loss_of(&tape, &x, &classes, &weight).unwrap()).unwrap();
        assert_eq!((loss.item().unwrap(), same.item().unwrap()), (value, value));
        let same = tape.apply("tanh", &[&same], &[]).unwrap();
        for result in [loss, same] {
            assert!(result.backward().unwrap_err().to_string().contains("depends on no tensor that requires"));
        }
        loss_of(&tape, &x, &classes, &weight).unwrap().backward().unwrap();
        assert_eq!(weight.grad().unwrap().unwrap(), first);
        weight.zero_grad().unwrap();
        same.keep().unwrap();
        drop(tape); // what was kept ends with it
    }
    weight.require_grad(false).unwrap();
}

#[test]
fn a_tapes_first_failure_names_its_place() {
    let context = Context::new().unwrap();
    let (x, classes, weight) = rows_classes_weight(&context);
    let mut tape = Tape::lazy(&context).unwrap();
    let error = tape.apply("matmul", &[&x, &x], &[]).err().unwrap();
    let line = line!() - 1;
    assert_eq!(error.status(), Status::ShapeMismatch);
    let expected = format!("matmul: inner extents differ: [6, 4] x [6, 4] ({}:{line})", file!());
    assert_eq!(error.to_string(), expected);
    assert_eq!(loss_of(&tape, &x, &classes, &weight).err().unwrap().to_string(), expected);
    assert_eq!(tape.flush().unwrap_err().to_string(), expected);
    tape.reset().unwrap();
    tape.flush().unwrap();
    let error = tape.apply_several("relu", &[&x], &[], 2).err().unwrap();
    assert!(error.to_string().starts_with("relu has 1 outputs, 2 are asked for"), "{error}");
}

#[test]
fn functions_compile_and_become_models() {
    let context = Context::new().unwrap();
    let (x, _, weight) = rows_classes_weight(&context);
    let mut calls = 0;
    let mut compiled = Compiled::new(&context, &Default::default(), move |tape, inputs| {
        calls += 1;
        let y = tape.apply("matmul", &[inputs[0], inputs[1]], &[])?;
        if calls % 2 == 1 {
            y.keep()?;
        }
        Ok(vec![tape.apply(if calls % 2 == 0 { "tanh" } else { "relu" }, &[&y], &[])?])
    })
    .unwrap();
    let mut eager = Tape::eager(&context).unwrap();
    let product = eager.apply("matmul", &[&x, &weight], &[]).unwrap();
    let values = |op| eager.apply(op, &[&product], &[]).unwrap().values::<f32>().unwrap();
    let (relu, tanh, product) = (values("relu"), values("tanh"), product.values::<f32>().unwrap());
    eager.reset().unwrap();
    for expected in [&relu, &tanh, &relu] {
        let results = compiled.call(&[&x, &weight], 1).unwrap();
        assert_eq!(&results[0].values::<f32>().unwrap(), expected);
    }
    assert_eq!(compiled.tape().info().unwrap().plans_made, 2);
    let kept = compiled.reset().unwrap();
    assert_eq!((kept.len(), kept[0].as_slice::<f32>()), (1, &product[..]));

    let result = compiled.call(&[&x, &weight], 1).unwrap()[0];
    let names: [(&dyn Operand, &str); 2] = [(&x, "rows"), (&weight, "weight")];
    let options = CaptureOptions { names: &names, output_names: &["y"], open_batch: true };
    let model = result.tape().capture(&[result], &options).unwrap();
    assert_eq!((model.inputs().unwrap()[0].name.as_str(), model.outputs().unwrap()[0].name.as_str()), ("rows", "y"));
    assert_eq!(model.parameter("weight").unwrap(), weight.values());
    let options = CaptureOptions { output_names: &["y", "z"], ..options };
    let error = result.tape().capture(&[result], &options).err().unwrap();
    assert_eq!(error.to_string(), "2 names are given for 1 outputs");
    let error = compiled.call(&[&x, &weight], 2).err().unwrap();
    assert_eq!(error.to_string(), "the function gave 1 results, 2 are asked for");
    assert_eq!(compiled.call(&[&x, &x], 1).err().unwrap().status(), Status::ShapeMismatch);
    assert_eq!(compiled.call(&[&x, &weight], 1).unwrap().len(), 1); // the failure ended with its record
}

#[test]
#[should_panic(expected = "mine")]
fn a_panic_goes_past_a_compiled_function() {
    let context = Context::new().unwrap();
    let mut compiled = Compiled::new(&context, &Default::default(), |_, _| panic!("mine")).unwrap();
    let _ = compiled.call(&[], 1);
}
