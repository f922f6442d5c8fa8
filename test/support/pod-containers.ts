import { execFile } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

// A kubelet for one pod: runs its containers as real processes, each in its own namespaces, on a
// copy of this machine's files, with the user and the groups of the pod.

const run = promisify(execFile);

/** Programs of an image by path, as shell scripts. */
export type ImageFiles = Readonly<Record<string, string>>;

interface Container {
  readonly name: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly fieldRef: { readonly fieldPath: string } };
  }[];
  readonly envFrom?: readonly { readonly secretRef: { readonly name: string } }[];
  readonly volumeMounts?: readonly {
    readonly name: string;
    readonly mountPath: string;
    readonly subPath?: string;
  }[];
}

type Items = readonly { readonly key: string; readonly path: string }[];

interface VolumeSource {
  readonly secret?: { readonly name: string; readonly items: Items };
  readonly configMap?: { readonly name: string; readonly items: Items };
  readonly serviceAccountToken?: { readonly path: string };
}

interface PodShape {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly nodeName: string;
    readonly initContainers?: readonly Container[];
    readonly containers: readonly Container[];
    readonly volumes?: readonly {
      readonly name: string;
      readonly secret?: { readonly secretName: string; readonly items?: Items };
      readonly projected?: {
        readonly sources: readonly VolumeSource[];
      };
    }[];
    readonly securityContext?: { readonly runAsUser?: number; readonly fsGroup?: number };
  };
}

/** The data of a Secret or a ConfigMap; undefined if absent. */
type Data = (name: string) => Promise<Readonly<Record<string, string>> | undefined>;

/** The environment of a pod. */
interface PodWorld {
  readonly secrets: Data;
  readonly configMaps?: Data;
  /** A token of the pod's service account. */
  readonly token?: () => Promise<string>;
  readonly image: ImageFiles;
  /** Command of an image, for a container without one. */
  readonly entrypoint?: readonly string[];
  /** Folders of this machine by their paths in each container. */
  readonly binds?: Readonly<Record<string, string>>;
  /** Environment of every container, such as the address of the API server. */
  readonly env?: Readonly<Record<string, string>>;
  /** Kills the running containers. */
  readonly signal?: AbortSignal;
}

/** The end of a pod's containers. */
export interface PodEnd {
  readonly phase: 'Succeeded' | 'Failed';
  /** Output of each container by name; a container that did not run is absent. */
  readonly logs: ReadonlyMap<string, string>;
  /** Exit code of each container by name. */
  readonly codes: ReadonlyMap<string, number>;
}

/** Redirects a container's writes to memory, mounts the volumes, then runs the command. */
const enter = `set -e
mount --make-rprivate /
mount -t tmpfs tmpfs "$BASE"
mkdir "$BASE/up" "$BASE/work" "$BASE/root"
cp -r "$IMAGE/." "$BASE/up"
mount -t overlay overlay -o "lowerdir=/,upperdir=$BASE/up,workdir=$BASE/work" "$BASE/root"
mount --rbind /dev "$BASE/root/dev"
echo "$MOUNTS" | while read -r from to; do
  [ -n "$from" ] || continue
  chroot "$BASE/root" mkdir -p "$to"
  mount --bind "$from" "$BASE/root$(chroot "$BASE/root" realpath "$to")"
done
cd "$BASE/root"
mkdir -p old-root
pivot_root . old-root
mount -t proc proc /proc
umount -l /old-root
cd /
exec "$@" < /dev/null`;

/**
 * Runs the containers of a pod one after the other, with the programs of its images from `image`.
 */
export async function runContainers(object: unknown, world: PodWorld): Promise<PodEnd> {
  const pod = object as PodShape;
  const folder = mkdtempSync(join(tmpdir(), 'pod-'));
  const [logs, codes] = [new Map<string, string>(), new Map<string, number>()];
  try {
    await fill(folder, pod, world);
    for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
      const { code, log } = await runContainer(container, { pod, folder, world });
      logs.set(container.name, log);
      codes.set(container.name, code);
      if (code !== 0) return { phase: 'Failed', logs, codes };
    }
    return { phase: 'Succeeded', logs, codes };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Writes the programs of the images and the volumes of the pod. */
async function fill(folder: string, pod: PodShape, world: PodWorld): Promise<void> {
  const { fsGroup = 0 } = pod.spec.securityContext ?? {};
  mkdirSync(join(folder, 'image'));
  mkdirSync(join(folder, 'base'));
  for (const [path, script] of Object.entries(world.image)) {
    mkdirSync(join(folder, 'image', path, '..'), { recursive: true });
    writeFileSync(join(folder, 'image', path), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
  for (const { name, secret, projected } of pod.spec.volumes ?? []) {
    const place = join(folder, 'volumes', name);
    mkdirSync(place, { recursive: true });
    const given = secret && { name: secret.secretName, items: secret.items ?? [] };
    for (const source of projected?.sources ?? (given ? [{ secret: given }] : []))
      for (const [path, content] of await contentOf(source, world)) {
        const file = join(place, path);
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, content, { mode: 0o440 });
        chownSync(file, 0, fsGroup);
      }
    if (secret === undefined && projected === undefined) chmodSync(place, 0o777);
  }
}

/** The content of a volume's source, by path. */
async function contentOf(
  { secret, configMap, serviceAccountToken }: VolumeSource,
  { secrets, configMaps, token }: PodWorld,
): Promise<readonly (readonly [path: string, content: string])[]> {
  if (serviceAccountToken !== undefined)
    return [[serviceAccountToken.path, (await token?.()) ?? '']];
  const data = secret === undefined ? configMaps?.(configMap?.name ?? '') : secrets(secret.name);
  const found = (await data) ?? {};
  return (
    (secret ?? configMap)?.items.flatMap(({ key, path }) => {
      const content = found[key];
      return content === undefined ? [] : [[path, content] as const];
    }) ?? []
  );
}

interface Place {
  readonly pod: PodShape;
  readonly folder: string;
  readonly world: PodWorld;
}

/** The command line of a container on this machine, and its environment. */
async function processOf(container: Container, { pod, folder, world }: Place) {
  const { runAsUser, fsGroup = 0 } = pod.spec.securityContext ?? {};
  const mounts = (container.volumeMounts ?? []).map(({ name, mountPath, subPath = '' }) => {
    const from = join(folder, 'volumes', name, subPath);
    mkdirSync(from, { recursive: true });
    return `${from} ${mountPath}`;
  });
  const bound = Object.entries(world.binds ?? {}).map(([path, from]) => `${from} ${path}`);
  const fields: Readonly<Record<string, string>> = {
    'spec.nodeName': pod.spec.nodeName,
    'metadata.name': pod.metadata.name,
  };
  const own = (container.env ?? []).map(({ name, value = '', valueFrom }) => [
    name,
    valueFrom === undefined ? value : fields[valueFrom.fieldRef.fieldPath],
  ]);
  const given = await Promise.all(
    (container.envFrom ?? []).map(({ secretRef }) => world.secrets(secretRef.name)),
  );
  const env = {
    PATH: process.env['PATH'],
    BASE: join(folder, 'base'),
    IMAGE: join(folder, 'image'),
    MOUNTS: [...mounts, ...bound].join('\n'),
    ...world.env,
    ...Object.assign({}, ...given),
    ...Object.fromEntries(own),
  } as NodeJS.ProcessEnv;
  // A separate PID namespace, so that its process 1 is not this machine's.
  const namespaces = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
  const user = [
    ...['setpriv', `--reuid=${runAsUser}`, '--regid=0', `--groups=${fsGroup}`],
    ...['--bounding-set=-all', '--inh-caps=-all', '--no-new-privs'],
  ];
  const { command = world.entrypoint ?? [], args = [] } = container;
  const words = [...(runAsUser === undefined ? [] : user), ...command, ...args];
  return { env, argv: [...namespaces, 'sh', '-c', enter, 'enter', ...words] };
}

async function runContainer(container: Container, place: Place) {
  const { env, argv } = await processOf(container, place);
  const { signal } = place.world;
  try {
    const { stdout, stderr } = await run('unshare', argv, { env, killSignal: 'SIGKILL', signal });
    return { code: 0, log: stdout + stderr };
  } catch (error) {
    const ended = error as { readonly code?: unknown } & Partial<
      Record<'stdout' | 'stderr', string>
    >;
    const { code, stdout = '', stderr = '' } = ended;
    return { code: typeof code === 'number' ? code : 137, log: `${stdout}${stderr}` };
  }
}
