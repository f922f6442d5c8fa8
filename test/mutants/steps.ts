import type { MutantsByFile } from './mutant.ts';

/** Mutants of steps that cannot be taken back: what is done to disks and to pools. */
export const stepMutants: MutantsByFile = {
  'src/lib/certificates.ts': [
    {
      means: 'an authority that has expired is trusted',
      from: 'last > now',
      to: 'last > 0',
    },
    {
      means: 'an old authority beside its successor is refused',
      from: 'Math.max(...ends)',
      to: 'Math.min(...ends)',
    },
    {
      means: 'a private key is given to every user of the installed host',
      from: "text.includes('PRIVATE KEY-----')",
      to: 'text === ""',
    },
  ],
  'src/lib/image-mirrors.ts': [
    {
      means: 'a mirror stands for a tag, which it may have another image of',
      from: 'mirror-by-digest-only = true',
      to: 'mirror-by-digest-only = false',
    },
    {
      means: 'names of mirrors are not checked',
      from: '[one.source, ...one.mirrors]',
      to: '[one.source]',
    },
  ],
  'src/steps/ignition/registries.ts': [
    {
      means: 'an authority that changed since it was checked is trusted',
      from: 'if (problem !== undefined) throw badAuthorities(ca, problem);',
      to: '',
    },
    {
      means: 'registries of the settings win over those that were served',
      from: 'mergeConfigs(ours, config)',
      to: 'mergeConfigs(config, ours)',
    },
    {
      means: 'an installed host is given Ignition of a newer spec than it may know',
      from: "version: '3.0.0'",
      to: "version: '3.5.0'",
    },
    {
      means: 'nobody but root reads mirrors and authorities of an installed host',
      from: 'embeddedFile(path, text, 0o644)',
      to: 'embeddedFile(path, text, 0o600)',
    },
    {
      means: 'a host is given Ignition that its first boot refuses',
      from: "refuseErrors(validateConfig(merged), 'ignition.merge-invalid');",
      to: '',
    },
    {
      means: 'an authority is written, and no tool of the host trusts it',
      from: 'await host.exec(updateTrustArgv, { signal, limit: minutes(2) });',
      to: '{}',
    },
  ],
  'src/steps/ignition/merge-single-node.ts': [
    {
      means: 'a single node has no mirrors',
      from: '(await withRegistries(scope, config)) ?? json',
      to: 'json',
    },
  ],
  'src/lib/writer-args.ts': [
    {
      means: 'an option and its value in one element pass for an unknown option',
      from: '  const mistake = joined(word);\n  if (mistake !== undefined) return mistake;\n',
      to: '',
    },
  ],
  'src/steps/image/hooks.ts': [
    {
      means: 'what a hook printed last is not in the log of a failure',
      from: '  } finally {\n    output.end();\n  }',
      to: '  }',
    },
    {
      means: 'a hook that floods fills the memory of the agent',
      from: 'for (; kept > noted; left += 1)',
      to: 'for (; kept > Infinity; left += 1)',
    },
    {
      means: 'a password in the output of a hook is in the log',
      from: 'note(level, shownText(line), { hook })',
      to: 'note(level, line, { hook })',
    },
    {
      means: 'a password in the failure of a hook is reported',
      from: 'shownText(error.message)',
      to: 'error.message',
    },
    {
      means: 'a hook runs without a limit',
      from: '      limit: minutes(limitOf(config.hooks)),\n',
      to: '      limit: hours(24),\n',
    },
    {
      means: 'a hook gets the password of a proxy',
      from: 'http: String(proxy.http)',
      to: 'http: proxy.http.reveal()',
    },
    {
      means: 'a hook whose interpreter the host lacks is found after the disk was wiped',
      from: "[['test', '-x', interpreter], ...ofEnv",
      to: '[...ofEnv',
    },
    {
      means: 'a hook whose program env does not find is found after the disk was wiped',
      from: ', ...ofEnv.map(onPathArgv)]',
      to: ']',
    },
    {
      means: 'a hook from Windows is found after the disk was wiped',
      from: 'if (problem !== undefined) return problem;',
      to: '',
    },
    {
      means: 'a hook that is no file is found after the disk was wiped',
      from: "['test', '-f', path],",
      to: '',
    },
    {
      means: 'a hook that may not be run is found after the disk was wiped',
      from: "['test', '-x', path],",
      to: '',
    },
    {
      means: 'a hook that timed out has failed by itself',
      from: "error.code === 'command.timed-out'",
      to: "error.code === ''",
    },
  ],
  'src/os/driver.ts': [
    {
      means: 'kernel arguments in another order count as those of a MachineConfig',
      from: 'return found === wanted.length;',
      to: 'return wanted.every((one) => present.map(bare).includes(bare(one)));',
    },
    {
      means: 'a quoted kernel argument with a blank becomes two',
      from: '|"[^"]*(?:"|$))+/g',
      to: '|")+/g',
    },
    {
      means: 'a kernel argument of the platform goes with that of a MachineConfig',
      from: 'if (at >= 0) rest.splice(at, 1);',
      to: 'if (at >= 0) rest.splice(0, rest.length, ...rest.filter((each) => each !== one));',
    },
  ],
  'src/steps/os/stage.ts': [
    {
      means: 'kernel arguments are changed against those from before the pull',
      from: "readArguments(scope, snapshot, 'next')",
      to: 'readArguments(scope, snapshot)',
    },
  ],
  'src/cli/layer/status.ts': [
    {
      means: 'an update is shown by the least that one of its nodes needs',
      from: 'heavier.indexOf(one.needs) > heavier.indexOf(most.needs)',
      to: 'heavier.indexOf(one.needs) < heavier.indexOf(most.needs)',
    },
    {
      means: 'another image is shown as the update of files alone',
      from: 'isBuilt || !nodes.every(hasImage)',
      to: 'isBuilt',
    },
    {
      means: 'keys are shown as a reboot before it is known whether an image is built',
      from: "(isSame || nextBuild.since !== '')",
      to: 'true',
    },
    {
      means: 'keys are shown without a reboot before it is known whether an image is built',
      from: "(update.needs === 'nothing' || update.needs === 'drain')",
      to: "update.needs === 'drain'",
    },
  ],
  'src/controllers/installation/wait-for-end.ts': [
    {
      means: 'a controller whose token is rejected ends as if it had succeeded',
      from: 'if (end === tokenRejected) await failRejected(scope);',
      to: '',
    },
    {
      means: 'a controller continues after a reset',
      from: 'endStatuses.has(cluster.status) || resetStatuses.has(cluster.status)',
      to: 'endStatuses.has(cluster.status)',
    },
  ],
  'src/steps/cluster/wait-for-control-plane.ts': [
    {
      means: 'a worker waits for masters that nobody installs any more',
      from: 'if (masters.some(isGivenUp)) {',
      to: 'if (masters.length > 99) {',
    },
  ],
  'src/steps/image/writer.ts': [
    {
      means: 'the format of a DASD counts as standing still',
      from: '    formatted = next;\n    movedAt = now();',
      to: '    formatted = next;',
    },
  ],
  'src/ignition/certificate-times.ts': [
    {
      means: 'a host whose clock is a little behind is not installed',
      from: 'from <= now + tolerated',
      to: 'from <= now',
    },
    {
      means: 'a host is installed with a bootstrap.ign that is too old',
      from: '&& to > now',
      to: '',
    },
  ],
  'src/steps/bootstrap/fetch-ignition.ts': [
    {
      means: 'a bootstrap begins whose certificates are not valid',
      from: '      refuseWrongTime(valid.config, scope.clock.now());\n',
      to: '',
    },
  ],
  'src/steps/ignition/fetch-host.ts': [
    {
      means: 'a host that will trust no config server writes its disk',
      from: '  refuseWrongTime(config, scope.clock.now());\n',
      to: '',
    },
    {
      means: 'a host fails although its clock is about to be set',
      from: "error.code === 'ignition.wrong-time' &&",
      to: "error.code === 'ignition.cut' &&",
    },
    {
      means: 'the secrets of a saved config are shown in a resumed run',
      from: '  for (const secret of secretsInIgnition(text)) hide(secret);\n',
      to: '',
    },
    {
      means: 'a saved config that was changed is installed',
      from: "if (createHash('sha256').update(text).digest('hex') !== sha256) return false;",
      to: "if (text === '') return false;",
    },
    {
      means: 'the secrets of a config that was read are shown',
      from: '  for (const secret of secretsInIgnition(Buffer.from(received.bytes).toString())) hide(secret);\n',
      to: '',
    },
  ],
  'src/layering/api/machine-config-pool.ts': [
    {
      means: 'a pause that began at another time is ended',
      from: "if (since === '' || pausedSince(pool, purpose) !== since) return undefined;",
      to: "if (since === '') return undefined;",
    },
    {
      means: 'a pause is ended for the workers that are to leave the pool',
      from: 'isPaused(pool) && isPausedForOthers(pool, purpose)',
      to: 'false',
    },
  ],
  'src/layering/api/meaning.ts': [
    {
      means: 'a unit that is disabled is one of which nothing is said',
      from: "new Set(['enabled', 'overwrite', 'shouldExist'])",
      to: "new Set(['overwrite', 'shouldExist'])",
    },
    {
      means: 'content that is encoded otherwise is other content',
      from: "return createHash('sha256').update(content).digest('hex');",
      to: 'return content.length > 0 ? resource : null;',
    },
  ],
  'src/steps/cluster/pool-pause.ts': [
    {
      means: 'a pause is changed over what a person has changed since',
      from: 'metadata: { ...change.metadata, resourceVersion } };',
      to: 'metadata: { ...change.metadata, uid: resourceVersion } };',
    },
    {
      means: 'a pause that was not kept is believed',
      from: 'if (isThere && isPaused(kept) === spec.paused) return kept;',
      to: 'if (isThere || spec.paused) return kept;',
    },
  ],
  'src/steps/layering/pool-pause.ts': [
    {
      means: 'a stopped run does not name what it keeps paused',
      from: "signal.addEventListener('abort', nameHeld, { once: true });",
      to: 'void nameHeld;',
    },
    {
      means: 'pools are unpaused whose nodes lose their image by it',
      from: "if (atRisk === '') {",
      to: 'if (pools.length > 0) {',
    },
  ],
  'src/controllers/installation/dns-address.ts': [
    {
      means: 'a service is removed that has taken the name of the one to remove',
      from: 'namespace, name, uid }, signal)',
      to: 'namespace, name }, signal)',
    },
  ],
  'src/controllers/installation/stores.ts': [
    {
      means: 'a node is labelled, counted or reported that is another one of its name',
      from: 'return found && { host: now.host, node: found };',
      to: 'return { host: now.host, node: found ?? node };',
    },
  ],
  'src/controllers/installation/failures.ts': [
    {
      means: 'a controller that has lost its lease takes back what its successor needs',
      from: '? AbortSignal.abort(reason)',
      to: '? new AbortController().signal',
    },
  ],
  'src/controllers/installation/approve-requests.ts': [
    {
      means: 'a certificate request that was made again under the same name is approved unread',
      from: ' || asked.uid !== uid',
      to: '',
    },
    {
      means: 'a request is approved whose key did not sign it',
      from: "asked.state === 'pending' && isRight",
      to: "asked.state === 'pending'",
    },
    {
      means: 'an address is certified to a node that took the place of another',
      from: '  if (node?.metadata.uid !== before.nodes.get(name)?.metadata.uid) return undefined;\n',
      to: '',
    },
    {
      means: 'an address is certified that the node no longer has',
      from: 'if (node !== undefined) nodes.set(name, node);',
      to: 'nodes.set(name, before.nodes.get(name) ?? { metadata: { name } });',
    },
    {
      means: 'a host is approved that has left the inventory since the decision',
      from: 'cluster: { ...cluster, nodes } }',
      to: 'cluster: { ...before, nodes } }',
    },
    {
      means: 'more masters are approved than are missing while an approval is on its way',
      from: "  book.set(request, { state: 'approved' });\n",
      to: '',
    },
  ],
};
