/** Where the writer takes the image from. */
export type WriterSource =
  | { readonly kind: 'own' }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'url'; readonly url: string };

/** What one run of the writer is told. */
export interface WriterOrder {
  /** Path of the Ignition config on the host. */
  readonly ignition: string;
  readonly source: WriterSource;
  /** Further arguments, passed as they are. */
  readonly args: readonly string[];
  /** Kernel path of the disk. */
  readonly disk: string;
}

/**
 * The command that writes the operating system. `--insecure` tolerates that there is no signature,
 * as RHCOS images have none; a bad signature is refused all the same.
 */
export const writerArgv = ({ ignition, source, args, disk }: WriterOrder): readonly string[] => [
  'coreos-installer',
  'install',
  '--insecure',
  '-i',
  ignition,
  ...sourceArgs(source),
  ...args,
  disk,
];

function sourceArgs(source: WriterSource): readonly string[] {
  switch (source.kind) {
    case 'own':
      return [];
    case 'file':
      return ['--image-file', source.path];
    case 'url':
      return ['--image-url', source.url];
  }
}
