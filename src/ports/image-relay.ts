import { type AgentError, failuresOf, type FailureTable } from '../model/failure.ts';

/** An image that is to be handed on. */
export interface RelaySource {
  readonly url: string;
  /** Of the stored file, lower-case hexadecimal. */
  readonly sha256?: string;
  /** Follow no redirect to plain http. */
  readonly tlsOnly?: boolean;
}

/** How far the handing on has come; of the last request when there were several. */
export interface RelayOutcome {
  /** Someone asked for the image. */
  readonly isAsked: boolean;
  /** Bytes read from the source. */
  readonly bytes: number;
  /** How often the source was cut and taken up again. */
  readonly resumed: number;
  /** Of all that was read, once the source has come to its end. */
  readonly sha256?: string;
  /** Why the last byte was held back, or reading stopped. */
  readonly failure?: AgentError;
}

/** An image that is being handed on. */
export interface RelayedImage {
  /** Where the writer finds it: on the loopback interface of this network namespace. */
  readonly url: string;
  readonly outcome: () => RelayOutcome;
  /** Ends what is running and takes the address away. */
  readonly close: () => Promise<void>;
}

/**
 * Hands an image on to a program of this machine, and with it what the program itself lacks: a
 * digest that is enforced, resuming after a cut, our trust and our proxies. The end of the image is
 * held back until the digest is known to be right; else the connection is cut, so that a program
 * that keeps the first sectors for last never makes the disk bootable.
 */
export interface ImageRelay {
  readonly serve: (
    source: RelaySource,
    options: { readonly signal: AbortSignal },
  ) => Promise<RelayedImage>;
}

/** Failures of an image on its way to the writer; whoever relays or reads it throws these. */
export const imageRelayFailures = {
  'image.wrong-digest': {
    kind: 'media',
    title: 'The image has the wrong sha256',
    hint: 'compare the configured sha256 with the file; it may be damaged, or another release',
  },
  'image.cut': {
    kind: 'media',
    title: 'The download of the image was cut off',
    hint: 'run the same "podman run" line again; if it is cut off again, check the network and the server',
  },
} as const satisfies FailureTable;

/** Builds an error of an image on its way. */
export const imageRelayFailure = failuresOf(imageRelayFailures);
