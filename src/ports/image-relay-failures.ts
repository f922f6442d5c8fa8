import { failuresOf, type FailureTable } from '../model/failure.ts';

/** Failures of an image on its way to the writer; whoever hands it on or reads it throws these. */
export const imageRelayFailures = {
  'image.wrong-digest': {
    kind: 'media',
    title: 'The image is not the one that was meant',
    hint: 'compare the sha256 with the image; the file may be damaged or another one',
  },
  'image.cut': {
    kind: 'media',
    title: 'The image was not received whole',
    hint: 'run again; if it stops again, look at the network and the server',
  },
} as const satisfies FailureTable;

/** Builds an error of an image on its way. */
export const imageRelayFailure = failuresOf(imageRelayFailures);
