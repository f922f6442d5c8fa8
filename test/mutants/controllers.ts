import type { MutantsByFile } from './mutant.ts';

/** Mutants of controllers: what is checked between a decision and its write, and what a decision goes by. */
export const controllerMutants: MutantsByFile = {
  'src/controllers/installation/apply-manifests.ts': [
    {
      means: 'a failed job is removed by what was seen of it before',
      from: 'removalsDue(seen).length === 0 ? {} : await olm.setupNow(inner)',
      to: 'removalsDue(seen).length >= 0 ? {} : await olm.setupNow(inner)',
    },
    {
      means: 'another job of the same name is removed',
      from: 'await kube.remove(failed, signal)',
      to: 'await kube.remove({ ...failed, uid: undefined }, signal)',
    },
  ],
  'src/controllers/installation/step.ts': [
    {
      means: 'what failed is tried again at each event',
      from: 'if (clock.elapsed() < notBefore)',
      to: 'if (clock.elapsed() < 0 * notBefore)',
    },
    {
      means: 'the same failure is noted each time',
      from: '      if (status !== failure) {',
      to: "      if (status !== '') {",
    },
  ],
  'src/reconcile/queue.ts': [
    {
      means: 'a change of a key that is at work is lost',
      from: '  entry.dueAt = undefined;\n  try {\n    const { after } = await reconcile(key, signal);',
      to: '  try {\n    const { after } = await reconcile(key, signal);\n    entry.dueAt = undefined;',
    },
    {
      means: 'an event of a key that fails makes it run before its pause is over',
      from: '    const at = Math.max(dueAt ?? 0, notBefore);',
      to: '    const at = Math.max(dueAt ?? 0, 0 * notBefore);',
    },
    {
      means: 'a stop waits for nothing',
      from: '      await Promise.all(running);',
      to: '      await Promise.resolve();',
    },
  ],
  'src/reconcile/informer.ts': [
    {
      means: 'who joins others never sees what they have seen',
      from: 'const changes = isListed ? view.changes : all();',
      to: 'const changes = view.changes;',
    },
    {
      means: 'who joins while the kind is not served never sees what others saw before',
      from: 'if (view.isSynced) take(view);',
      to: 'take(view);',
    },
    {
      means: 'an index has what has left its value',
      from: '        bucket?.delete(key);\n',
      to: '',
    },
  ],
  'src/reconcile/actions.ts': [
    {
      means: 'what was decided is done without a fresh reading',
      from: '      const now = await readAgain(seen, signal, action);',
      to: '      const now: Seen | undefined = seen;',
    },
    {
      means: 'what is decided otherwise by then is done all the same',
      from: '  one.type === other.type && one.target === other.target;',
      to: '  one.type === other.type || one.target === other.target;',
    },
  ],
  'src/reconcile/manager.ts': [
    {
      means: 'keys run by what was seen before a gap',
      from: '    if (gapNow() !== undefined) {',
      to: '    if (gapNow() === null) {',
    },
    {
      means: 'the work continues after the lease is lost',
      from: '      forward(lease.lost, fail);\n',
      to: '',
    },
  ],
  'src/reconcile/lease.ts': [
    {
      means: 'a release takes the lease from another that holds it',
      from: '      if (holder() !== identity) return;\n',
      to: '',
    },
    {
      means: 'a lease that was forbidden once is never asked for again',
      from: '        return renewed(scope, { record, times, since: undefined });',
      to: '        return { lost: new AbortController().signal, release: () => Promise.resolve() };',
    },
  ],
  'src/reconcile/write.ts': [
    {
      means: 'a write meets what somebody else has written since',
      from: '  body: { metadata: { ...metadata, uid, resourceVersion }, ...body },',
      to: '  body: { metadata: { ...metadata, uid, generateName: resourceVersion }, ...body },',
    },
    {
      means: 'another object of the same name is changed',
      from: 'return now?.metadata.uid === seen.metadata.uid ? now : undefined;',
      to: 'return now;',
    },
  ],
  'src/controllers/installation/labels.ts': [
    {
      means: 'a node is labelled before it is Ready',
      from: ' && readinessOf(node).isReady',
      to: '',
    },
    {
      means: 'a node is labelled by what the watch showed',
      from: 'readAgain: stores.readAgain }',
      to: 'readAgain: (one: HostAndNode) => Promise.resolve(one) }',
    },
  ],
  'src/controllers/installation/bare-metal-hosts.ts': [
    {
      means: 'a host is registered by what the watch showed',
      from: 'return now && (await seenOf(now, inner));',
      to: 'return now && before;',
    },
    {
      means: 'two hosts are given one machine',
      from: ' && !taken.has(one.metadata.name)',
      to: '',
    },
    {
      means: 'a host is registered over what somebody else has written since',
      from: 'patchOf(seen, { metadata: { annotations }, spec })',
      to: "{ type: 'merge', body: { metadata: { annotations }, spec } }",
    },
    {
      means: 'a host that the cluster provisions itself is registered',
      from: '  if (hasProvisioning && !isUnmanaged(host)) return { actions: [] };\n',
      to: '',
    },
  ],
  'src/controllers/installation/left-work.ts': [
    {
      means: 'what the bootstrap host has left is done by what the watch showed',
      from: 'return seenOf(found, etcd);',
      to: 'return seenOf(found, etcd) && seenNow();',
    },
    {
      means: 'etcd is restarted that cannot lose a member',
      from: 'seen.members.isReached && isEtcdLeft(seen)',
      to: 'isEtcdLeft(seen)',
    },
    {
      means: 'a pool is unpaused by what was read before',
      from: 'readAgain: (_, inner) => read(name, inner),',
      to: 'readAgain: (before) => Promise.resolve(before),',
    },
    {
      means: 'a pool is unpaused before its nodes have their image',
      from: 'return isHandedOver || isOver ?',
      to: 'return isHandedOver || !isOver ?',
    },
  ],
  'src/controllers/installation/reports.ts': [
    {
      means: 'a stage is reported by what the watch showed',
      from: 'return now && seenOf(now);',
      to: 'return now && seen;',
    },
    {
      means: 'a host has asked for its Ignition by an address that another host has too',
      from: ' && index.at(one)?.id === id',
      to: '',
    },
    {
      means: 'a taint is removed from the successor of a node',
      from: '...{ seen, decide, readAgain: stores.readAgain },',
      to: '...{ seen, decide, readAgain: (one) => Promise.resolve(one) },',
    },
  ],
};
