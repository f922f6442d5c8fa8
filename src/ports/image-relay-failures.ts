import { failuresOf, type FailureTable } from '../model/failure.ts';

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
    hint: 'run again; if it is cut off again, check the network and the server',
  },
} as const satisfies FailureTable;

/** Builds an error of an image on its way. */
export const imageRelayFailure = failuresOf(imageRelayFailures);
