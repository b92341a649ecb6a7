/**
 * A real mail server, private to a test: loopback only, in a directory of its own, nothing of the
 * system's touched but what its docstring names. Each takes any recipient at recipient.test and hands
 * the mail on to an SMTP server of the test's, which is where to look what has become of it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'

export interface MailServer {
  readonly port: number
  /** What it logged, for when a test fails. */
  log(): string
  stop(): Promise<void>
}

export interface MailServerOptions {
  /** Of the SMTP server that everything is relayed to. */
  readonly relayPort: number
  /** PEM, for STARTTLS. */
  readonly certificate: { readonly key: string; readonly cert: string }
}

/** Where `.ci/run` unpacks what cannot be installed beside Postfix. */
const UNPACKED = '/usr/local/lib/postrider-mail-servers'
const START_TRIES_MAX = 100
const TRY_AFTER_MS = 100

/** The path of a program, installed or unpacked; undefined where there is none. */
export function findProgram(debianPackage: string, path: string): string | undefined {
  return [path, `${UNPACKED}/${debianPackage}${path}`].find((one) => existsSync(one))
}

/** Why a server cannot run here; undefined when it can. */
export function hindranceOf(program: string | undefined, name: string): string | undefined {
  if (program === undefined) return `${name} is not installed`
  if (process.getuid?.() !== 0) return `${name} must be started by root`
  return undefined
}

/** Starts a server in the foreground and waits until it takes connections. */
export async function startServer(
  program: string,
  args: readonly string[],
  port: number,
): Promise<{ readonly output: () => string; stop(): Promise<void> }> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  for (let tries = 0; !(await isListening(port)); tries += 1) {
    if (tries === START_TRIES_MAX || hasEnded(child)) {
      child.kill('SIGKILL')
      throw new Error(`${program} does not listen on port ${port}: ${output}`)
    }
    await setTimeout(TRY_AFTER_MS)
  }
  return {
    output: () => output,
    stop() {
      child.kill('SIGTERM')
      return exited
    },
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('error', () => resolve(false))
    // Its greeting: the server behind the socket is awake.
    socket.once('data', () => {
      socket.destroy()
      resolve(true)
    })
  })
}
