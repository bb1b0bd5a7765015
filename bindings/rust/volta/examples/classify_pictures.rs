//! Pictures in a folder for each class: trains a small convolutional network on its train part, counts what is right of its test
//! part, and says what one more picture shows.
//!     classify_pictures FOLDER PICTURE OUT.volta

use volta::data::{Dataset, DatasetOptions, Loader, LoaderOptions, Picture, TransformOptions};
use volta::{sys, Context, Model, Session, Tensor, Trainer, TrainerOptions, View};

const BATCH: u32 = 16;
const SIDE: u32 = 28;
const EPOCHS: u64 = 4;

/// The same for training, testing and asking: grey, 28 x 28, about -2 to 2.
fn transform(random: bool) -> TransformOptions {
    TransformOptions {
        channels: 1,
        height: SIDE,
        width: SIDE,
        resize: sys::VOLTA_RESIZE_EXACT,
        mean: [0.5, 0.0, 0.0],
        deviation: [0.25, 0.0, 0.0],
        random_crop: random as i32,
        crop_padding: if random { 2 } else { 0 },
        ..Default::default()
    }
}

fn train(context: &Context, model: &mut Model, dataset: &Dataset, path: &str) -> volta::Result<()> {
    let loading = LoaderOptions {
        transform: transform(true),
        numbers: sys::volta_loader_options {
            batch: BATCH,
            order: sys::VOLTA_ORDER_SHUFFLED,
            damaged: sys::VOLTA_DAMAGED_SKIP,
            seed: 1,
            ..Default::default()
        },
    };
    let mut loader = Loader::new(dataset, &loading)?;
    let options = TrainerOptions {
        input_shapes: vec![vec![BATCH.into(), 1, SIDE.into(), SIDE.into()]],
        numbers: sys::volta_trainer_options { learning_rate: 3e-3, ..Default::default() },
        ..Default::default()
    };
    let mut trainer = Trainer::new(model, &options)?;
    loop {
        let batch = loader.next_batch()?;
        if batch.epoch() == EPOCHS {
            break;
        }
        // Over the loader's memory, which is lent until the next call: nothing is copied.
        let x = View::of(context, batch.pixels(), &batch.shape())?;
        let y = View::of(context, batch.labels(), &[BATCH.into()])?;
        let report = trainer.step(&[&x], &y)?;
        if batch.batch() + 1 == batch.batches_of_epoch() {
            println!("epoch {} loss {:.4}", batch.epoch() + 1, report.loss);
        }
    }
    trainer.save(path)?;
    println!("hash {}", trainer.hash()?);
    trainer.update_model(model)
}

fn classify(context: &Context, session: &mut Session, picture: &Picture, classes: u32) -> volta::Result<u32> {
    let mut pixels = vec![0.0; (SIDE * SIDE) as usize];
    picture.transform(&transform(false), &mut pixels)?;
    let x = View::of(context, &pixels, &[1, 1, SIDE.into(), SIDE.into()])?;
    let mut y = Tensor::zeros::<f32>(context, &[1, classes.into()])?;
    session.run_one(&x, &mut y)?;
    let logits = y.as_slice::<f32>();
    Ok((1..logits.len()).fold(0, |best, i| if logits[i] > logits[best] { i } else { best }) as u32)
}

fn run(folder: &str, shown: &str, path: &str) -> volta::Result<()> {
    let part = |split| Dataset::open(sys::VOLTA_DATA_FOLDER, &[folder], &DatasetOptions { split, ..Default::default() });
    let (training, test) = (part(sys::VOLTA_SPLIT_TRAIN)?, part(sys::VOLTA_SPLIT_TEST)?);
    let classes = training.info()?.class_count;
    let context = Context::new()?;
    let network = sys::volta_network_options { classes: classes.into(), width: 0.25, ..Default::default() };
    let mut model = Model::network_with(&context, "cnn", &network, 1)?; // or "resnet18", "mobilenet_v2", ...
    train(&context, &mut model, &training, path)?;

    let mut session = Session::new(&model, &[&[1, 1, SIDE.into(), SIDE.into()]])?;
    let count = test.info()?.sample_count;
    let mut right = 0;
    for i in 0..count {
        let picture = test.read(i)?;
        right += (Some(classify(&context, &mut session, &picture, classes)?) == picture.label()?) as u64;
    }
    println!("{right} of {count} test pictures right");
    let picture = Picture::open(shown, &DatasetOptions::default())?;
    let class = classify(&context, &mut session, &picture, classes)?;
    println!("{shown}: {}", training.class_name(class).unwrap_or_default());
    Ok(())
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() != 4 {
        eprintln!("usage: classify_pictures FOLDER PICTURE OUT.volta");
        std::process::exit(2);
    }
    if let Err(error) = run(&arguments[1], &arguments[2], &arguments[3]) {
        eprintln!("classify_pictures: {error}");
        std::process::exit(1);
    }
}
