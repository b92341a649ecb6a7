/**
 * Rspamd, private to a test: one worker on loopback, its own configuration, folders and list of known
 * phishing; no Redis, and a name server that does not answer, so that nothing leaves the machine. Of
 * its modules it has the one that the tests are about: all of them take up to a minute to load.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { findFreePort } from '../free-port.ts'
import { findProgram, hindranceOf } from './mail-server.ts'

export interface RspamdServer {
  readonly url: string
  log(): string
  stop(): Promise<void>
}

const START_TRIES_MAX = 240
const TRY_AFTER_MS = 250

const findRspamd = () => findProgram('rspamd', '/usr/bin/rspamd')

export function rspamdHindrance(): string | undefined {
  return hindranceOf(findRspamd(), 'Rspamd')
}

export async function createRspamdServer(o: {
  /** URLs that it takes for known phishing. */
  readonly phished: readonly string[]
}): Promise<RspamdServer> {
  const directory = mkdtempSync(join(tmpdir(), 'postrider-rspamd-'))
  const port = await findFreePort()
  const url = `http://127.0.0.1:${port}`
  const file = writeConfiguration(directory, port, o.phished)
  const folders = ['RUNDIR', 'DBDIR', 'LOGDIR'].map((v) => `--var=${v}=${directory}`)
  // In the foreground, as the user that runs the test.
  const child = spawn(findRspamd() ?? '', ['-f', '-i', '-c', file, ...folders], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  const stop = async () => {
    child.kill('SIGTERM')
    await exited
    rmSync(directory, { recursive: true, force: true })
  }
  for (let tries = 0; !(await isUp(url)); tries += 1) {
    if (tries === START_TRIES_MAX || child.exitCode !== null) {
      await stop()
      throw new Error(`Rspamd does not answer on port ${port}: ${output}`)
    }
    await setTimeout(TRY_AFTER_MS)
  }
  return { url, log: () => output, stop }
}

async function isUp(url: string): Promise<boolean> {
  const signal = AbortSignal.timeout(2_000)
  return fetch(`${url}/ping`, { signal }).then(
    ({ ok }) => ok,
    () => false,
  )
}

function writeConfiguration(directory: string, port: number, phished: readonly string[]): string {
  const list = join(directory, 'phished.txt')
  writeFileSync(list, `${phished.join('\n')}\n`)
  const file = join(directory, 'rspamd.conf')
  writeFileSync(
    file,
    `options {
  filters = "chartable";
  tempdir = "${directory}";
  pidfile = "${directory}/rspamd.pid";
  url_tld = "$SHAREDIR/effective_tld_names.dat";
  disable_hyperscan = true;
  dns { nameserver = ["127.0.0.1:9"]; timeout = 0.1s; retransmits = 1; }
}
logging { type = "console"; level = "warning"; }
worker "normal" { bind_socket = "127.0.0.1:${port}"; count = 1; }
modules { path = "$PLUGINSDIR/phishing.lua"; }
phishing { symbol = "PHISHING"; openphish_enabled = true; openphish_map = "${list}"; }
`,
  )
  return file
}
