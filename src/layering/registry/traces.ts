/**
 * Folders below a written disk where a system is told of registries, for each of its deployments.
 * `deployments` are their names in `…/deploy`.
 */
function placesOf(root: string, deployments: readonly string[]): readonly string[] {
  const of = `${root}/ostree/deploy/rhcos/deploy`;
  return deployments.flatMap((name) =>
    name.endsWith('.origin')
      ? [`${of}/${name}`]
      : [
          `${of}/${name}/etc/containers`,
          `${of}/${name}/etc/docker`,
          `${of}/${name}/etc/pki/ca-trust/source/anchors`,
        ],
  );
}

/** What of a written disk is looked through. */
export interface WrittenRoot {
  /** Where its root file system is mounted. */
  readonly root: string;
  /** Names in the folder of its deployments: the deployments, and a file of the origin of each. */
  readonly deployments: readonly string[];
  /** HOST:PORT that must not be spoken of. */
  readonly address: string;
}

/** Names the files that speak of a registry. Folders that are not there are no fault: 1 and 2 say nothing. */
export const contentTraceArgv = ({
  root,
  deployments,
  address,
}: WrittenRoot): readonly string[] => [
  ...['grep', '--recursive', '--files-with-matches', '--no-messages', '--fixed-strings'],
  ...['-e', address, '--', ...placesOf(root, deployments)],
];

/** Names the folders that are called after a registry; `find` takes brackets for a pattern. */
export const nameTraceArgv = ({ root, deployments, address }: WrittenRoot): readonly string[] => [
  ...['find', ...placesOf(root, deployments)],
  ...['-name', `*${address.replaceAll(/[[\]*?\\]/g, String.raw`\$&`)}*`],
];

/** The paths that both print, each once. */
export const tracesIn = (...outputs: readonly string[]): readonly string[] =>
  [...new Set(outputs.flatMap((text) => text.split('\n')))].filter((path) => path !== '').sort();
