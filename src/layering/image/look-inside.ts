import { type Builder, buildArgv } from './builder.ts';

/** Begins each line that tells of the inside of an image. */
const MARK = 'bootwright-saw';

/** What is seen inside an image. */
export interface Inside {
  /** Versions of the kernels that it could boot. */
  readonly kernels: readonly string[];
  /** Names of rendered MachineConfigs in its `currentconfig`. */
  readonly configs: readonly string[];
  /** What `bootc container lint` found wrong, its last words; undefined without bootc, or when it is content. */
  readonly lint?: string;
  /** All of it was looked at. */
  readonly isWhole: boolean;
}

/** Tag of the image that is thrown away after the look. */
export const lookTag = (pool: string): string => `localhost/bootwright/look-${pool}:latest`;

/** Lines of what bootc says that are kept: the findings come last. */
const linesOfLint = 12;

/**
 * A Containerfile that only looks: a build runs wherever the image itself was built, while mounting an image needs
 * root and running one needs what a container or a chroot may lack.
 */
export const lookInsideContainerfile = (image: string): string =>
  [
    `FROM ${image}`,
    'RUN for kernel in /usr/lib/modules/*/vmlinuz; do \\',
    `      if [ -e "$kernel" ]; then echo "${MARK} kernel $(basename "$(dirname "$kernel")")"; fi; \\`,
    '    done; \\',
    `    grep -oE '"name":"rendered-[^"]+"' /etc/machine-config-daemon/currentconfig | sort -u | \\`,
    `      sed -e 's/^"name":"/${MARK} config /' -e 's/"$//'; \\`,
    // Older versions of bootc have no such verb.
    '    if bootc container lint --help >/dev/null 2>&1; then \\',
    '      said="$(bootc container lint 2>&1)" || \\',
    `        { echo ${MARK} lint failed; echo "$said" | sed -e 's/^/${MARK} lint-says /'; }; \\`,
    '    fi; \\',
    `    echo ${MARK} end`,
    '',
  ].join('\n');

/** Runs that look; the image it makes is thrown away. */
export const lookInsideArgv = (
  builder: Builder,
  {
    context,
    containerfile,
    tag,
  }: { readonly context: string; readonly containerfile: string; readonly tag: string },
): readonly string[] =>
  buildArgv(builder, { context, containerfile, tag, buildArguments: [], volumes: [] });

/** Collects what the build prints, line by line. */
export function insideReader(): {
  readonly line: (line: string) => void;
  readonly seen: () => Inside;
} {
  const said: string[] = [];
  const of = (kind: string): readonly string[] =>
    said.flatMap((line) => (line.startsWith(`${kind} `) ? [line.slice(kind.length + 1)] : []));
  return {
    line: (line) => {
      const at = line.trim();
      if (at.startsWith(`${MARK} `)) said.push(at.slice(MARK.length + 1));
    },
    seen: () => ({
      kernels: of('kernel'),
      configs: of('config'),
      ...(said.includes('lint failed')
        ? { lint: of('lint-says').slice(-linesOfLint).join('\n') }
        : {}),
      isWhole: said.includes('end'),
    }),
  };
}
