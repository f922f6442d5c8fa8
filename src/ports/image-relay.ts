import { type AgentError, failuresOf, type FailureTable } from '../model/failure.ts';

/** An image to relay. */
export interface RelaySource {
  readonly url: string;
  /** Digest of the stored file, lower-case hexadecimal. */
  readonly sha256?: string;
  /** Follow no redirect to plain http. */
  readonly tlsOnly?: boolean;
}

/** Progress of a relayed image; of the last request if there were several. */
export interface RelayOutcome {
  /** Whether a program has requested the image. */
  readonly isAsked: boolean;
  /** Bytes read from the source. */
  readonly bytes: number;
  /** Number of resumptions after a cut of the source. */
  readonly resumed: number;
  /** Digest of all bytes read, once the source has ended. */
  readonly sha256?: string;
  /** The reason why the last byte was held back, or reading stopped. */
  readonly failure?: AgentError;
}

/** An image that is being relayed. */
export interface RelayedImage {
  /** URL for the writer, on the loopback interface of this network namespace. */
  readonly url: string;
  readonly outcome: () => RelayOutcome;
  /** Ends a running request and closes the address. */
  readonly close: () => Promise<void>;
}

/**
 * Relays an image to a program of this machine, and adds features that the program lacks: a digest
 * check, resuming after a cut, the configured trust and proxies. Holds back the end of the image
 * until the digest is right; otherwise cuts the connection, so that a program that writes the first
 * sectors last never makes the disk bootable.
 */
export interface ImageRelay {
  readonly serve: (
    source: RelaySource,
    options: { readonly signal: AbortSignal },
  ) => Promise<RelayedImage>;
}

/**
 * Failures of an image on its way to the writer; the relay and all readers of images throw these.
 */
export const imageRelayFailures = {
  'image.wrong-digest': {
    kind: 'media',
    title: 'The image has the wrong sha256',
    hint: 'compare image.sha256 with "sha256sum FILE" of the file as the server has it; it may be damaged, or belong to another release',
  },
  'image.cut': {
    kind: 'media',
    title: 'The download of the image was cut off',
    hint: 'run the same "podman run" line again; if it is cut off again, check the network and the server',
  },
} as const satisfies FailureTable;

/** Builds an error of an image on its way. */
export const imageRelayFailure = failuresOf(imageRelayFailures);
