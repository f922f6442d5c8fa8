// Outputs for tests: what `ostree container image deploy` of ostree-rs-ext 0.15.3 printed, on a disk that was made so.

const otherArchitecture = `Error: Performing deployment

Caused by:
    0: Preparing import
    1: Fetching manifest
    2: Image has architecture arm64; expected amd64`;
const noRoom = `Error: Performing deployment

Caused by:
    0: Importing
    1: Parsing layer blob sha256:914ff936c9607254ea375c6ebeb2da4f1f74390f5ee030664406a8dca86ef332
    2: error: ostree-tar: Failed to handle file: ostree-tar: Failed to import file: Writing content object: min-free-space-percent '3%' would be exceeded, at least 734.0 MB requested
    3: Processing tar
    4: Failed to commit tar: ExitStatus(unix_wait_status(256))`;
const cut = `Error: Performing deployment

Caused by:
    0: Importing
    1: Unencapsulating base
    2: proxy failure: failed to invoke method FinishPipe: failed to invoke method FinishPipe: unexpected EOF (while reconnecting: Get "https://127.0.0.1:5444/v2/stage/lab/blobs/sha256:311a": EOF) and client error
    3: Importing commit
    4: incomplete deflate stream`;
const died = cut.replace(': EOF)', ': dial tcp 127.0.0.1:5444: connect: connection refused)');
const gone = `Error: Performing deployment

Caused by:
    0: Creating importer
    1: failed to invoke method OpenImage: failed to invoke method OpenImage: pinging container registry 127.0.0.1:5445: Get "https://127.0.0.1:5445/v2/": dial tcp 127.0.0.1:5445: connect: connection refused`;

/** Complaints about a pull, by what was wrong. */
export const pullSamples = { otherArchitecture, noRoom, cut, died, gone } as const;
