import { jobs, machineOSBuilds, machineOSConfigs, secrets } from '../../cluster/kinds.ts';
import {
  annotationOf,
  countAt,
  isOwnedBy,
  partOf,
  textAt,
} from '../../layering/api/cluster-object.ts';
import {
  buildKeys,
  buildOwnership,
  builtFromKey,
  conditionsOf,
  handedOverStatus,
} from '../../layering/api/os-build.ts';
import { renderedNameOf } from '../../layering/api/machine-config-pool.ts';
import { currentBuild, jobOf, type PoolSnapshot } from '../../layering/hand-over/invariants.ts';
import { phaseOf } from '../../layering/hand-over/pool-status.ts';
import type { PlannedBuild } from '../../layering/roll-out/build-inputs.ts';
import {
  imageOf,
  isSetAside,
  newestBuild,
  rolledBackKey,
} from '../../layering/roll-out/image-origin.ts';
import { repositoryOf, withDigest } from '../../lib/image-name.ts';
import { type Millis, minutes, wholeSeconds } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { architectureOf, buildJob, type BuildRun, buildSecret, ownImage } from './build-job.ts';
import {
  patchAnnotations,
  type BuildWork,
  finished,
  interruption,
  jobEnd,
  jobIn,
  jobRemoval,
  type NextBuild,
  oldBuilds,
  removal,
  patchStatus,
} from './build-writes.ts';

/** All that decides what is to be done for the image of a pool. */
export interface BuildSeen {
  /** With the jobs of the builds. */
  readonly snapshot: PoolSnapshot;
  /** The rendered MachineConfig of the pool, where it is there. */
  readonly machineConfig: KubeObject | undefined;
  /** Those of the operator's namespace. */
  readonly pods: readonly KubeObject[];
  readonly namespace: string;
  /** Milliseconds since 1970. */
  readonly now: Millis;
  /** How long something has been missing, since it was first found missing. */
  readonly missingFor: (what: string) => Millis;
}

/** A watch may show one object later than another, and clocks of two hosts may differ: what is late is late by our own. */
const late = minutes(1);

/**
 * What comes next for the image of a pool that has a MachineOSConfig. All that it goes by is in the cluster, and each piece
 * of work is safe to repeat: a controller that was killed continues.
 */
export function nextBuild(
  seen: BuildSeen,
  plan: (machineConfig: KubeObject, osConfig: KubeObject) => PlannedBuild,
): NextBuild {
  const { snapshot, machineConfig } = seen;
  const { osConfig, machineConfigPool } = snapshot;
  if (osConfig === undefined || osConfig.metadata.deletionTimestamp !== undefined) return done;
  const rendered = renderedNameOf(machineConfigPool);
  if (machineConfig === undefined) {
    return { waitsFor: rendered === '' ? 'a rendered MachineConfig' : `MachineConfig ${rendered}` };
  }
  if (osConfig.metadata.annotations?.[buildKeys.rebuild] !== undefined) {
    return rebuild(seen, osConfig);
  }
  const kept = currentBuild(snapshot);
  if (kept !== undefined && isOfThese(kept, osConfig, rendered))
    return afterBuild(seen, kept, osConfig);
  const planned = plan(machineConfig, osConfig);
  if ('reason' in planned) return refusal(planned.reason);
  return toward(planned.build, seen, { osConfig, machineConfig });
}

const done: NextBuild = { waitsFor: '' };

const refusal = (reason: string): NextBuild => ({
  waitsFor: `no build: ${reason}`,
  isRefused: true,
});

/**
 * Whether a build that has succeeded is of the rendered MachineConfig and of this generation of the MachineOSConfig: one that
 * an installation or the operator made has another name at times, and its image stays.
 */
const isOfThese = (build: KubeObject, osConfig: KubeObject, rendered: string): boolean =>
  phaseOf(build) === 'Succeeded' &&
  build.metadata.deletionTimestamp === undefined &&
  textAt(build, 'spec', 'machineConfig', 'name') === rendered &&
  partOf(osConfig, 'metadata', 'generation') !== undefined &&
  partOf(osConfig, 'metadata', 'generation') === partOf(osConfig, 'status', 'observedGeneration');

function create(build: KubeObject, osConfig: KubeObject): BuildWork {
  const { name, uid = '' } = osConfig.metadata;
  const metadata = { ...build.metadata, ...buildOwnership({ name, uid }) };
  const what = `MachineOSBuild ${build.metadata.name} is made`;
  return { what, writes: [{ create: { ...build, metadata }, kind: machineOSBuilds }] };
}

interface Objects {
  readonly build: KubeObject;
  readonly osConfig: KubeObject;
  readonly machineConfig: KubeObject;
}

/** Brings a build of the plan's name to its end. */
function toward(planned: KubeObject, seen: BuildSeen, objects: Omit<Objects, 'build'>): NextBuild {
  const { osConfig } = objects;
  const { name } = planned.metadata;
  const build = seen.snapshot.builds.find(({ metadata }) => metadata.name === name);
  if (build === undefined) return create(planned, osConfig);
  if (build.metadata.deletionTimestamp !== undefined) {
    return { waitsFor: `MachineOSBuild ${name} to be removed` };
  }
  if (annotationOf(osConfig, buildKeys.currentBuild) !== name) {
    const annotations = { [buildKeys.currentBuild]: name };
    const what = `MachineOSBuild ${name} is the current one`;
    return { what, writes: [patchAnnotations(machineOSConfigs, osConfig, annotations)] };
  }
  switch (phaseOf(build)) {
    case 'not started':
      return begin(seen, { ...objects, build });
    case 'Prepared':
    case 'Building':
      return follow(seen, build);
    case 'Succeeded':
      return afterBuild(seen, build, osConfig);
    case 'Interrupted':
      return { what: `MachineOSBuild ${name} is begun again`, writes: removal(seen, build) };
    default:
      return { waitsFor: `MachineOSBuild ${name} has failed` };
  }
}

/** Stops what the pool no longer wants, then takes an image that is there, or has one built. */
function begin(seen: BuildSeen, objects: Objects): NextBuild {
  const { snapshot } = seen;
  const { build } = objects;
  const { name } = build.metadata;
  const other = snapshot.builds.find(
    (one) =>
      one.metadata.name !== name &&
      one.metadata.deletionTimestamp === undefined &&
      ['not started', 'Prepared', 'Building'].includes(phaseOf(one)),
  );
  if (other !== undefined) return interruption(seen, other, `${name} takes its place`);
  const found = reusable(snapshot, build);
  if (found !== undefined) {
    return {
      what: `MachineOSBuild ${name} has the image of ${found.metadata.name}: nothing that goes into it has changed`,
      writes: [finished(seen, build, { phase: 'succeeded', image: imageOf(found) })],
      event: 'OSImageReused',
    };
  }
  const job = jobIn(snapshot, name);
  if (job !== undefined && !isOwnedBy(job, build)) {
    const ref = { kind: jobs, namespace: seen.namespace, name: jobOf(name) };
    return {
      what: `a former Job ${ref.name} is removed`,
      writes: [{ remove: { ...ref, uid: job.metadata.uid } }],
    };
  }
  const image = ownImage(seen.pods);
  if (image === undefined) {
    const pods = 'a running pod of bootwright node controller or agent';
    return { waitsFor: `${pods}: builds run in its image` };
  }
  const { architecture, others } = architectureOf(snapshot);
  const odd = others.join(', ');
  if (architecture === undefined && odd !== '') {
    return refusal(`an image is of one architecture, and ${odd}`);
  }
  const { namespace, now } = seen;
  const run: BuildRun = { ...objects, namespace, image, architecture };
  const reference = { group: 'batch', resource: 'jobs', namespace, name: jobOf(name) };
  return {
    what: `MachineOSBuild ${name} is built by Job ${jobOf(name)}${odd === '' ? '' : ` for ${architecture}, but ${odd}`}`,
    writes: [
      { create: buildSecret(run), kind: secrets, mayExist: true },
      ...(job === undefined ? [{ create: buildJob(run), kind: jobs } as const] : []),
      patchStatus(machineOSBuilds, build, {
        buildStart: wholeSeconds(now),
        builder: { imageBuilderType: 'Job', job: reference },
        conditions: conditionsOf('queued', new Date(now)),
      }),
    ],
    event: 'OSBuildStarted',
    ifRefused: (why) => finished(seen, build, { phase: 'failed', why }),
  };
}

/** The newest image of the same inputs in the same repository; of a build of the operator nobody knows the inputs. */
function reusable({ builds }: PoolSnapshot, build: KubeObject): KubeObject | undefined {
  const sum = annotationOf(build, builtFromKey);
  const repository = (one: KubeObject): string =>
    repositoryOf(textAt(one, 'spec', 'renderedImagePushSpec'));
  return newestBuild(
    builds.filter(
      (one) =>
        phaseOf(one) === 'Succeeded' &&
        sum !== '' &&
        annotationOf(one, builtFromKey) === sum &&
        repository(one) === repository(build),
    ),
  );
}

/** Follows the Job of a build to its end. */
function follow(seen: BuildSeen, build: KubeObject): NextBuild {
  const { name } = build.metadata;
  const job = jobIn(seen.snapshot, name);
  const isLate = (what: string): boolean =>
    seen.missingFor(`${what} ${name} ${build.metadata.uid}`) > late;
  if (job === undefined || !isOwnedBy(job, build)) {
    if (!isLate('job')) return { waitsFor: `Job ${jobOf(name)}` };
    return interruption(seen, build, `Job ${jobOf(name)} is gone`);
  }
  const end = jobEnd(name, job, seen.pods);
  if (end === undefined) {
    const isNews = phaseOf(build) === 'Prepared' && countAt(job, 'status', 'active') > 0;
    if (!isNews) return { waitsFor: `MachineOSBuild ${name} to succeed` };
    const conditions = conditionsOf('running', new Date(seen.now));
    const writes = [patchStatus(machineOSBuilds, build, { conditions })];
    return { what: `MachineOSBuild ${name} is at work`, writes };
  }
  if ('digest' in end && end.digest !== undefined) {
    const image = withDigest(textAt(build, 'spec', 'renderedImagePushSpec'), end.digest);
    return {
      what: `MachineOSBuild ${name} has succeeded: ${image}`,
      writes: [finished(seen, build, { phase: 'succeeded', image })],
      event: 'OSBuildSucceeded',
    };
  }
  if ('digest' in end && !isLate('digest')) {
    return { waitsFor: `the digest of MachineOSBuild ${name}` };
  }
  const why = 'digest' in end ? 'its pod is gone, and so is the digest' : end.why;
  return {
    what: `MachineOSBuild ${name} has failed: ${why}`,
    writes: [finished(seen, build, { phase: 'failed', why })],
    event: 'OSBuildFailed',
    isFailure: true,
  };
}

/** What comes once a build has succeeded: the MachineOSConfig names its image, and what is no longer needed goes. */
function afterBuild(seen: BuildSeen, build: KubeObject, osConfig: KubeObject): NextBuild {
  const { snapshot } = seen;
  const { name } = build.metadata;
  const image = imageOf(build);
  const wanted = { name, image, generation: countAt(osConfig, 'metadata', 'generation') };
  const isNamed =
    textAt(osConfig, 'status', 'currentImagePullSpec') === image &&
    textAt(osConfig, 'status', 'machineOSBuild', 'name') === name &&
    countAt(osConfig, 'status', 'observedGeneration') === wanted.generation;
  if (!isNamed) {
    const writes = [patchStatus(machineOSConfigs, osConfig, handedOverStatus(wanted))];
    return { what: `MachineOSConfig ${osConfig.metadata.name} names ${image}`, writes };
  }
  const job = jobIn(snapshot, name);
  if (job !== undefined && isOwnedBy(job, build)) {
    return { what: `Job ${job.metadata.name} is removed`, writes: jobRemoval(seen, build) };
  }
  const [old] = oldBuilds(snapshot, build, osConfig);
  if (old === undefined) return done;
  const what = `MachineOSBuild ${old.metadata.name} is removed: nothing needs it any more`;
  return { what, writes: removal(seen, old) };
}

/**
 * A person wants the build once more. The builds of the same inputs no longer lend their image; the annotation goes last, so
 * that a crash before it repeats the rest.
 */
function rebuild(seen: BuildSeen, osConfig: KubeObject): BuildWork {
  const { snapshot } = seen;
  const build = currentBuild(snapshot);
  const sum = annotationOf(build, builtFromKey);
  const same = snapshot.builds.filter(
    (one) => sum !== '' && one !== build && annotationOf(one, builtFromKey) === sum,
  );
  const isThere = build !== undefined && build.metadata.deletionTimestamp === undefined;
  const taken = {
    [buildKeys.rebuild]: null,
    ...(isSetAside(snapshot) ? { [rolledBackKey]: null } : {}),
  };
  return {
    what: `the image of pool ${snapshot.pool} is built once more, as its annotation ${buildKeys.rebuild} says`,
    writes: [
      ...same.map((one) => patchAnnotations(machineOSBuilds, one, { [builtFromKey]: null })),
      ...(isThere ? removal(seen, build) : []),
      patchAnnotations(machineOSConfigs, osConfig, taken),
    ],
    event: 'OSBuildRequested',
  };
}
