"""Images, sound and video."""

from paddock.launch.catalogue.option import Group, Kind, Option
from paddock.text import Text

OPTIONS = (
    Option(
        "mmproj", ("-mm", "--mmproj"), Kind.PATH, Group.MULTIMODAL,
        Text("Projector"), Text("GGUF that lets the model see or hear."),
        env="LLAMA_ARG_MMPROJ",
    ),
    Option(
        "mmproj-url", ("-mmu", "--mmproj-url"), Kind.TEXT, Group.MULTIMODAL,
        Text("Projector URL"), Text("Downloads the projector from this address."),
        env="LLAMA_ARG_MMPROJ_URL",
    ),
    Option(
        "mmproj-auto", ("--mmproj-auto",), Kind.PAIR, Group.MULTIMODAL,
        Text("Find the projector"), Text("Takes the projector that comes with a Hugging Face repository."),
        negations=("--no-mmproj", "--no-mmproj-auto"), default="on", env="LLAMA_ARG_MMPROJ_AUTO",
    ),
    Option(
        "mmproj-offload", ("--mmproj-offload",), Kind.PAIR, Group.MULTIMODAL,
        Text("Projector on the GPU"), Text("Computes images and sound on the GPU."),
        negations=("--no-mmproj-offload",), default="on", env="LLAMA_ARG_MMPROJ_OFFLOAD",
    ),
    Option(
        "mmproj-device", ("-mmdev", "--mmproj-device"), Kind.TEXT, Group.MULTIMODAL,
        Text("Projector device"), Text("Device for the projector, by the engine's name."),
        env="MTMD_BACKEND_DEVICE",
    ),
    Option(
        "image-min-tokens", ("--image-min-tokens",), Kind.INT, Group.MULTIMODAL,
        Text("Fewest image tokens"), Text("Fewest tokens that an image becomes."),
        low=1, unit=Text("tokens"), env="LLAMA_ARG_IMAGE_MIN_TOKENS",
    ),
    Option(
        "image-max-tokens", ("--image-max-tokens",), Kind.INT, Group.MULTIMODAL,
        Text("Most image tokens"), Text("Most tokens that an image becomes."),
        low=1, unit=Text("tokens"), env="LLAMA_ARG_IMAGE_MAX_TOKENS",
    ),
    Option(
        "mtmd-batch-max-tokens", ("--mtmd-batch-max-tokens",), Kind.INT, Group.MULTIMODAL,
        Text("Image tokens at once"), Text("Most image tokens that are computed in one batch."),
        low=1, default="1024", unit=Text("tokens"), env="LLAMA_ARG_MTMD_BATCH_MAX_TOKENS",
    ),
    Option(
        "video-fps", ("--video-fps",), Kind.FLOAT, Group.MULTIMODAL,
        Text("Video frames"), Text("Frames that are taken of each second of video."),
        low=0, open_low=True, default="4.0", unit=Text("per second"), env="LLAMA_ARG_VIDEO_FPS",
    ),
    Option(
        "video-timestamp-interval", ("--video-timestamp-interval",), Kind.INT, Group.MULTIMODAL,
        Text("Video timestamps"), Text("Time between two timestamps in the text."),
        low=0, default="5000", unit=Text("ms"), env="LLAMA_ARG_VIDEO_TIMESTAMP_INTERVAL",
    ),
    Option(
        "video-ffmpeg-dir", ("--video-ffmpeg-dir",), Kind.FOLDER, Group.MULTIMODAL,
        Text("Folder of ffmpeg"), Text("Folder with ffmpeg and ffprobe. PATH is searched unless set."),
        env="LLAMA_ARG_VIDEO_FFMPEG_DIR",
    ),
    Option(
        "media-path", ("--media-path",), Kind.FOLDER, Group.MULTIMODAL,
        Text("Folder of media"), Text("Folder whose files requests may name."),
    ),
)
