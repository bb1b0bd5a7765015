"""Pictures in a folder for each class: trains a small convolutional network on its train part, counts what is right of its test
part, and says what one more picture shows.

    python classify_pictures.py FOLDER PICTURE OUT.volta
"""

import sys

import volta

BATCH, SIDE, EPOCHS = 16, 28, 4
PREPARED = dict(channels=1, height=SIDE, width=SIDE, resize="exact", mean=(0.5, 0, 0), deviation=(0.25, 0, 0))  # grey, about -2 to 2


def train(model, dataset, path):
    loader = volta.Loader(dataset, batch=BATCH, order="shuffled", damaged="skip", seed=1,
                          transform=dict(PREPARED, random_crop=1, crop_padding=2))
    trainer = volta.Trainer(model, (BATCH, 1, SIDE, SIDE), learning_rate=3e-3)
    for epoch in range(EPOCHS):
        for batch in loader:  # its arrays are the loader's: nothing is copied
            report = trainer.step(batch.pixels, batch.labels)
        print(f"epoch {epoch + 1} loss {report['loss']:.4f}")
    trainer.save(path)
    trainer.update_model()
    print("hash", trainer.hash)


def main(folder, shown, path):
    training, test = volta.Dataset("folder", folder), volta.Dataset("folder", folder, split="test")
    model = volta.Model.network("cnn", classes=len(training.classes), width=0.25, seed=1)
    train(model, training, path)
    session = volta.Session(model, (1, 1, SIDE, SIDE))

    def classify(picture):
        pixels = memoryview(picture.transform(**PREPARED)).cast("B").cast("f", (1, 1, SIDE, SIDE))
        logits = session.run(pixels)
        return max(range(len(training.classes)), key=lambda one: logits[0, one])

    right = sum(classify(test[i]) == test[i].label for i in range(len(test)))
    print(f"{right} of {len(test)} test pictures right")
    print(f"{shown}: {training.classes[classify(volta.Picture.open(shown))]}")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: classify_pictures.py FOLDER PICTURE OUT.volta")
    main(*sys.argv[1:])
