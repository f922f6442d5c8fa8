import type { MutantsByFile } from './mutant.ts';

/** Mutants of the ways to the host, the inventory service and the cluster. */
export const adapterMutants: MutantsByFile = {
  'src/adapters/file-access.ts': [
    {
      means: 'a part of a file stays when its source fails',
      from: 'await rm(chosen, { force: true }).catch(() => undefined);',
      to: '',
    },
    { means: 'anybody can read the journal', from: 'appending, 0o600', to: 'appending, 0o644' },
    {
      means: 'a link in place of a file of ours is followed',
      from: 'O_CREAT | O_NOFOLLOW | O_NONBLOCK',
      to: 'O_CREAT | O_NONBLOCK',
    },
    {
      means: 'a pipe in place of a file of ours is waited for',
      from: 'O_CREAT | O_NOFOLLOW | O_NONBLOCK',
      to: 'O_CREAT | O_NOFOLLOW',
    },
    {
      means: 'a pipe in place of a file of ours that is read is waited for',
      from: 'ours: O_RDONLY | O_NONBLOCK |',
      to: 'ours: O_RDONLY |',
    },
    {
      means: 'a file of another user is used',
      from: 'uid !== 0 && uid !== process.geteuid?.()',
      to: 'uid < 0',
    },
    {
      means: 'a file that others can write is used',
      from: '(mode & 0o022) !== 0',
      to: '(mode & 0o022) < 0',
    },
    { means: 'a file that has another name is used', from: 'nlink > 1', to: 'nlink > 99' },
    {
      means: 'a file without end fills the memory',
      from: 'const bytes = stats.size > mostBytes ? undefined : await readUpTo(stream, mostBytes);',
      to: 'const bytes = await readUpTo(stream, 1e12);',
    },
  ],
  'src/adapters/host/spawn.ts': [
    {
      means: 'what a command started is left behind',
      from: 'process.kill(-leader, signal)',
      to: 'process.kill(leader, signal)',
    },
    {
      means: 'a command that ignores the polite signal is left behind',
      from: "signalGroup(leader, 'SIGKILL');",
      to: '',
    },
  ],
  'src/adapters/host/run-command.ts': [
    {
      means: 'a writer that hears no polite signal writes on',
      from: "running.stop(isKillable ? 'SIGKILL' : 'SIGTERM')",
      to: "running.stop('SIGTERM')",
    },
    {
      means: 'the token of the service reaches every command',
      from: "    PATH: [...new Set(path)].join(':'),",
      to: "    ...own,\n    PATH: [...new Set(path)].join(':'),",
    },
    {
      means: 'the secrets of an argv reach the log',
      from: 'const shown = maskArgv(argv, secrets);',
      to: 'const shown = argv;',
    },
    { means: 'output is translated, and not understood', from: "    LC_ALL: 'C',\n", to: '' },
    {
      means: 'a command runs after the stop',
      from: 'if (signal.aborted) throw commandStopped({ argv, secrets, duration: 0 }, signal.reason);',
      to: '',
    },
  ],
  'src/adapters/host/command-failures.ts': [
    {
      means: 'half a secret is left where stderr is cut',
      from: "maskWords(story.stderr ?? '', story.secrets).slice(-stderrTail)",
      to: "maskWords((story.stderr ?? '').slice(-stderrTail), story.secrets)",
    },
    {
      means: 'an empty secret masks every letter',
      from: "    .filter((secret) => secret !== '')\n",
      to: '',
    },
  ],
  'src/adapters/host/direct-files.ts': [
    {
      means: 'a file is empty after a power loss',
      from: '  await file.sync();\n  return { bytes',
      to: '  return { bytes',
    },
    {
      means: 'the name of a file is lost with the power',
      from: '    await flushDirectory(dirname(at));\n',
      to: '',
    },
    { means: 'a file has the mode that umask leaves', from: 'await file.chmod(mode);', to: '' },
  ],
  'src/adapters/host/host-lock.ts': [
    {
      means: 'a lock that another holds is a failure',
      from: 'if (exitCode === conflict) return undefined;',
      to: '',
    },
    { means: 'a lock is not given back', from: 'running.stdin?.end();', to: 'return;' },
  ],
  'src/adapters/http/exchange.ts': [
    {
      means: 'a download that ends early is taken for whole',
      from: 'if (bytes !== undefined && received !== bytes)',
      to: 'if (received < 0)',
    },
    {
      means: 'a body that stalls is waited for without end',
      from: 'bodyTimeout: timeouts.idle',
      to: 'bodyTimeout: 0',
    },
    {
      means: 'an answer that does not begin is waited for without end',
      from: 'headersTimeout: timeouts.headers',
      to: 'headersTimeout: 0',
    },
    {
      means: 'a refusal is read to its end',
      from: 'if (left <= 0) return;',
      to: '',
    },
    {
      means: 'a refusal is waited for without end',
      from: 'body.destroy()',
      to: 'undefined',
    },
    {
      means: 'a stop waits for a connection to open',
      from: 'await unlessAborted(request, signal)',
      to: 'await request',
    },
    {
      means: 'a stop is taken for an error of the network',
      from: '    signal.throwIfAborted();\n    return { networkError',
      to: '    return { networkError',
    },
  ],
  'src/adapters/http/way.ts': [
    {
      means: 'a proxy that never answers is waited for without end',
      from: 'headersTimeout: timeout',
      to: 'headersTimeout: 0',
    },
    {
      means: 'the password of a proxy is not sent',
      from: "'Proxy-Authorization': token",
      to: "'Proxy-Authorization': ''",
    },
  ],
  'src/adapters/http/web.ts': [
    {
      means: 'a password is sent to whom a server redirects',
      from: 'url.origin === start.origin ? start : url',
      to: 'start',
    },
    {
      means: 'what is missing for good is asked for again',
      from: 'status === 404 ? 0 : retriesFor(status)',
      to: 'retriesFor(status)',
    },
    {
      means: 'a whole file is taken for the range that was asked for',
      from: 'request.range === undefined ? 200 : 206',
      to: '200',
    },
    {
      means: 'a redirect to another scheme is followed',
      from: "to?.protocol === 'https:' || (isPlain && !tlsOnly)",
      to: 'to !== null',
    },
    {
      means: 'a redirect to plain http is followed where only TLS verifies what comes',
      from: '(isPlain && !tlsOnly)',
      to: 'isPlain',
    },
  ],
  'src/adapters/http/retry.ts': [
    {
      means: 'a certificate that is not trusted is tried again',
      from: 'retriesOfNetwork = { untrusted: 0,',
      to: 'retriesOfNetwork = { untrusted: Infinity,',
    },
    {
      means: 'a server can ask to be left alone for hours',
      from: 'Math.min(verdict.notBefore ?? 0, longestAskedFor)',
      to: 'verdict.notBefore ?? 0',
    },
    {
      means: 'a server that asks to be left alone is not',
      from: 'Math.min(verdict.notBefore ?? 0, longestAskedFor)',
      to: '0',
    },
    {
      means: 'a call has one retry less than it is worth',
      from: 'attempts > retries(error.verdict.retries)',
      to: 'attempts >= retries(error.verdict.retries)',
    },
    {
      means: 'a busy service is not asked again',
      from: 'status === 408 || status === 429 || ',
      to: 'status === 408 || ',
    },
    {
      means: 'an error of ours is tried again',
      from: 'if (!(error instanceof AttemptFailure)) throw error;',
      to: 'if (!(error instanceof AttemptFailure)) return;',
    },
  ],
  'src/adapters/http/inventory-client.ts': [
    {
      means: 'requests have no token',
      from: "'X-Secret-Key': options.token?.reveal() ?? '',",
      to: "'X-Secret-Key': '',",
    },
    {
      means: 'a path of the URL is lost',
      from: 'join(url.pathname, base, what.path)',
      to: 'join(base, what.path)',
    },
  ],
  'src/adapters/http/inventory.ts': [
    {
      means: 'a wait asks ten times where it asked once',
      from: 'retries: () => 0, limit',
      to: 'limit',
    },
    {
      means: 'a host that was taken out is waited for',
      from: "status !== 'disabled'",
      to: "status !== ''",
    },
  ],
  'src/adapters/http/network-error.ts': [
    {
      means: 'a certificate that is not trusted is called a passing error',
      from: "return 'untrusted';",
      to: "return 'passing';",
    },
    {
      means: 'a name that is not known yet is final',
      from: "return 'unresolved';",
      to: "return 'lasting';",
    },
  ],
  'src/adapters/http/proxies.ts': [
    {
      means: 'loopback is asked for at the proxy',
      from: String.raw`if (name === 'localhost' || /^(?:127\.|::1$)/.test(target.address ?? '')) return true;`,
      to: '',
    },
    {
      means: 'notexample.com needs no proxy where example.com needs none',
      from: "target.name.endsWith(domain.startsWith('.') ? domain : `.${domain}`)",
      to: 'target.name.endsWith(domain)',
    },
  ],
  'src/adapters/kube/follow.ts': [
    {
      means: 'objects that were deleted stay in the view',
      from: 'if (after === undefined) objects.delete(key);',
      to: 'if (after === undefined) objects.get(key);',
    },
    {
      means: 'what went away during a gap is never seen to go',
      from: '    ...gone.flatMap((key) => changed(objects, key, undefined)),\n',
      to: '',
    },
    {
      means: 'one that was replaced under its name counts as the same',
      from: '  one.uid === other.uid &&',
      to: '  one.name === other.name &&',
    },
    {
      means: 'a watch continues from a point that the server has forgotten',
      from: "if (end === 'expired') return lost(course);",
      to: '',
    },
    {
      means: 'credentials that did not do are never read again',
      from: 'if (error.isAboutCredentials) session.doubt();',
      to: '',
    },
    {
      means: 'a bookmark does not move the point of history',
      from: "if (event.version !== '') version = event.version;",
      to: '',
    },
    {
      means: 'a server that cannot be reached is not shown',
      from: 'health.failed(error.failure);\n    known.lastError(error.failure);',
      to: '',
    },
    {
      means: 'a watch that ends at once is asked for again without a pause',
      from: 'return heard.isAlive ? 0 : pace.next();',
      to: 'return 0;',
    },
  ],
  'src/adapters/kube/denials.ts': [
    {
      means: 'what is forbidden is asked again',
      from: 'refused.set(permission, { failure, until });',
      to: '',
    },
    {
      means: 'a refusal of a quota is remembered for good',
      from: 'isLasting(failure) && ',
      to: '',
    },
    {
      means: 'what a starting API server refuses is never asked again',
      from: ' && !allowed.has(permission)',
      to: '',
    },
  ],
  'src/adapters/shared-follow.ts': [
    {
      means: 'who comes late sees nothing before the next change',
      from: 'if (shared.latest !== undefined) follower(shared.latest);',
      to: '',
    },
    {
      means: 'a watch ends for all when one leaves',
      from: 'if (shared.followers.size === 0) {',
      to: 'if (shared.followers.size >= 0) {',
    },
  ],
  'src/adapters/kube/watch.ts': [
    {
      means: 'a watch that says nothing is never given up',
      from: 'timeouts.watch + timeouts.watchGrace',
      to: 'timeouts.watch * 1000',
    },
    {
      means: 'a line that cannot be parsed is passed over',
      from: 'if (event === undefined) throw unreadable(path);',
      to: 'if (event === undefined) continue;',
    },
    {
      means: '410 as the answer is taken for an error',
      from: "error.failure.context['status'] === 410",
      to: "error.failure.context['status'] === 0",
    },
  ],
  'src/adapters/kube/list.ts': [
    {
      means: 'only the first page of a list is read',
      from: "while (next !== '')",
      to: 'while (next === null)',
    },
  ],
  'src/adapters/kube/call.ts': [
    {
      means: 'an object that an earlier attempt may have made is a conflict',
      from: 'isUncertain ||= error.isUncertain;',
      to: 'isUncertain = error.isUncertain;',
    },
    {
      means: 'what is hopeless is tried for a minute',
      from: "if (error.worth === 'none') throw error.failure;",
      to: '',
    },
    {
      means: 'an API server that asks to be left alone is not',
      from: 'Math.max(pace.next(), error.notBefore)',
      to: 'pace.next()',
    },
  ],
  'src/adapters/kube/session.ts': [
    {
      means: 'newer credentials are never looked for',
      from: 'isDoubted = true;',
      to: '',
    },
    {
      means: 'connections by older credentials stay open',
      from: '[...open].map(',
      to: '[...open].slice(-1).map(',
    },
    {
      means: 'connections by older credentials stay open, and what they know in memory',
      from: '    void one.server.close().finally(() => open.delete(one));\n',
      to: '',
    },
    {
      means: 'an answer breaks off where the credentials are replaced meanwhile',
      from: ' || one.requests > 0',
      to: '',
    },
  ],
  'src/adapters/kube/credentials.ts': [
    {
      means: 'the service is asked for the kubeconfig each second',
      from: 'askAfter = clock.elapsed() + servicePause;',
      to: '',
    },
    {
      means: 'a service that has no kubeconfig yet fails the wait',
      from: 'if (error instanceof AgentError && notYet.has(error.code)) return undefined;',
      to: '',
    },
  ],
  'src/adapters/kube/api-error.ts': [
    {
      means: 'a refusal of credentials is final while the control plane is made',
      from: '[401, 403, 408, 429]',
      to: '[408, 429]',
    },
    {
      means: '500 is taken for a write that had no effect',
      from: 'isUncertain: status >= 500,',
      to: '',
    },
  ],
  'src/adapters/kube/kube.ts': [
    {
      means: 'a pod is evicted from a node that somebody has uncordoned since it was looked at',
      from: 'throw isApiError(error) ? error.failure : error;',
      to: 'throw error;',
    },
    {
      means: "another's object is taken for one that we made",
      from: 'if (!isContained(object, there)) throw error;',
      to: '',
    },
    {
      means: 'an object that was there before is taken for ours',
      from: '!state.isUncertain || !isConflict)',
      to: '!isConflict)',
    },
    {
      means: 'a removed job leaves its pods',
      from: "{ propagationPolicy: 'Background' }",
      to: '{}',
    },
  ],
};
