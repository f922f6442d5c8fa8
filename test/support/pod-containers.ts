import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

// A kubelet for one pod: its containers are run for real, each in namespaces of its own, on a copy of this machine's files.

const run = promisify(execFile);

/** Programs of an image, by their paths, as shell scripts. */
export type ImageFiles = Readonly<Record<string, string>>;

interface Container {
  readonly name: string;
  readonly command: readonly string[];
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

interface PodShape {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly nodeName: string;
    readonly initContainers?: readonly Container[];
    readonly containers: readonly Container[];
    readonly volumes?: readonly {
      readonly name: string;
      readonly secret?: {
        readonly secretName: string;
        readonly items?: readonly { readonly key: string; readonly path: string }[];
      };
    }[];
  };
}

/** The data of a Secret; undefined if absent. */
type Secrets = (name: string) => Promise<Readonly<Record<string, string>> | undefined>;

/** How the containers of a pod ended. */
export interface PodEnd {
  readonly phase: 'Succeeded' | 'Failed';
  /** What each has written, by its name. */
  readonly logs: ReadonlyMap<string, string>;
}

/** Makes what is written in a container go to memory, and puts volumes to their places; then it runs the command. */
const enter = `set -e
mount --make-rprivate /
mount -t tmpfs tmpfs "$BASE"
mkdir "$BASE/up" "$BASE/work" "$BASE/root"
cp -r "$IMAGE/." "$BASE/up"
mount -t overlay overlay -o "lowerdir=/,upperdir=$BASE/up,workdir=$BASE/work" "$BASE/root"
mount --rbind /dev "$BASE/root/dev"
echo "$MOUNTS" | while read -r from to; do
  [ -n "$from" ] || continue
  mkdir -p "$BASE/root$to"
  mount --bind "$from" "$BASE/root$to"
done
cd "$BASE/root"
mkdir -p old-root
pivot_root . old-root
mount -t proc proc /proc
umount -l /old-root
cd /
exec "$@" < /dev/null`;

/** Runs the containers of a pod, one after the other; a program of its images is what `image` says at its path. */
export async function runContainers(
  object: unknown,
  { secrets, image }: { readonly secrets: Secrets; readonly image: ImageFiles },
): Promise<PodEnd> {
  const pod = object as PodShape;
  const folder = mkdtempSync(join(tmpdir(), 'pod-'));
  const logs = new Map<string, string>();
  try {
    await fill(folder, { pod, secrets, image });
    for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
      const { isSuccess, log } = await runContainer(container, { pod, folder, secrets });
      logs.set(container.name, log);
      if (!isSuccess) return { phase: 'Failed', logs };
    }
    return { phase: 'Succeeded', logs };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Puts the programs of the images there, and the volumes of the pod. */
async function fill(
  folder: string,
  {
    pod,
    secrets,
    image,
  }: { readonly pod: PodShape; readonly secrets: Secrets; readonly image: ImageFiles },
): Promise<void> {
  mkdirSync(join(folder, 'image'));
  mkdirSync(join(folder, 'base'));
  for (const [path, script] of Object.entries(image)) {
    mkdirSync(join(folder, 'image', path, '..'), { recursive: true });
    writeFileSync(join(folder, 'image', path), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
  for (const { name, secret } of pod.spec.volumes ?? []) {
    const place = join(folder, 'volumes', name);
    mkdirSync(place, { recursive: true });
    const data = (secret && (await secrets(secret.secretName))) ?? {};
    const items = (secret?.items ?? []).filter(({ key }) => data[key] !== undefined);
    for (const { key, path } of items) {
      writeFileSync(join(place, path), data[key] ?? '', { mode: 0o400 });
    }
  }
}

interface Place {
  readonly pod: PodShape;
  readonly folder: string;
  readonly secrets: Secrets;
}

async function runContainer(container: Container, { pod, folder, secrets }: Place) {
  const mounts = (container.volumeMounts ?? []).map(({ name, mountPath, subPath = '' }) => {
    const from = join(folder, 'volumes', name, subPath);
    mkdirSync(from, { recursive: true });
    return `${from} ${mountPath}`;
  });
  const fields: Readonly<Record<string, string>> = {
    'spec.nodeName': pod.spec.nodeName,
    'metadata.name': pod.metadata.name,
  };
  const own = (container.env ?? []).map(({ name, value = '', valueFrom }) => [
    name,
    valueFrom === undefined ? value : fields[valueFrom.fieldRef.fieldPath],
  ]);
  const given = await Promise.all(
    (container.envFrom ?? []).map(({ secretRef }) => secrets(secretRef.name)),
  );
  const env = {
    PATH: process.env['PATH'],
    BASE: join(folder, 'base'),
    IMAGE: join(folder, 'image'),
    MOUNTS: mounts.join('\n'),
    ...Object.assign({}, ...given),
    ...Object.fromEntries(own),
  } as NodeJS.ProcessEnv;
  // With a PID namespace of its own, so that its PID 1 is not that of this machine.
  const argv = [
    '--mount',
    '--pid',
    '--fork',
    '--kill-child',
    '--mount-proc',
    'sh',
    '-c',
    enter,
    'enter',
  ];
  try {
    const { stdout, stderr } = await run('unshare', [...argv, ...container.command], { env });
    return { isSuccess: true, log: stdout + stderr };
  } catch (error) {
    const { stdout = '', stderr = '' } = error as {
      readonly stdout?: string;
      readonly stderr?: string;
    };
    return { isSuccess: false, log: stdout + stderr };
  }
}
