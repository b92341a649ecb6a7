/**
 * The dashboard is built when its sources changed, by one command at a time, and takes its place as a whole:
 * also when a build is killed, and when another waits for it. In a clone of this folder.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findFreePort } from '@postrider/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
/** Longer than a lock lives without its holder. */
const LONG_AGO_S = 60
const POLL = { timeout: 60_000 }

let clone: string
let dist: string
let lock: string
const begun: Build[] = []

beforeAll(() => {
  clone = mkdtempSync(join(tmpdir(), 'postrider-build-'))
  dist = join(clone, 'packages/dashboard/dist')
  lock = join(clone, '.postrider-build.lock')
  const isSource = (path: string) =>
    !/^(?:node_modules|dist|dist-next|dist-last)$/.test(basename(path))
  for (const part of ['package.json', 'package-lock.json', 'tsconfig.json', 'scripts', 'packages'])
    cpSync(join(root, part), join(clone, part), { recursive: true, filter: isSource })
  shareModules('node_modules')
  shareModules('packages/server/node_modules')
})
afterEach(async () => {
  for (const build of begun.splice(0)) await build.kill('SIGKILL')
})
afterAll(() => rmSync(clone, { recursive: true, force: true }))

/** What is installed is the same; only the project's own packages are those of the clone. */
function shareModules(folder: string): void {
  if (!existsSync(join(root, folder))) return
  mkdirSync(join(clone, folder))
  for (const name of readdirSync(join(root, folder))) {
    const [from, to] = [join(root, folder, name), join(clone, folder, name)]
    if (name === '@postrider') cpSync(from, to, { recursive: true, verbatimSymlinks: true })
    else symlinkSync(from, to)
  }
}

interface Build {
  readonly child: ChildProcess
  readonly said: () => string
  readonly exited: Promise<number | null>
  /** What it has started has ended, too. */
  readonly ended: Promise<number | null>
  /** The command, and what it has started. */
  kill(signal: NodeJS.Signals): Promise<void>
}

function begin(
  command = process.execPath,
  args = ['scripts/build-dashboard.mjs'],
  env = {},
): Build {
  const child = spawn(command, args, {
    cwd: clone,
    // A group of its own, which can be killed as one.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data: Buffer) => {
      said += data.toString()
    })
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const build = {
    ...{ child, exited, ended },
    said: () => said,
    async kill(signal: NodeJS.Signals) {
      try {
        process.kill(-(child.pid ?? Number.NaN), signal)
      } catch {
        // It has ended by itself.
      }
      await ended
    },
  }
  begun.push(build)
  return build
}

async function build(): Promise<{ readonly code: number | null; readonly said: string }> {
  const { ended, said } = begin()
  return { code: await ended, said: said() }
}

const source = () => join(clone, 'packages/dashboard/src/main.tsx')
const changeSources = () => appendFileSync(source(), `\n// ${performance.now()}\n`)

/** The process that Vite runs in, once the build has told the lock. */
async function workerOf({ child }: Build): Promise<number> {
  const read = () => (existsSync(lock) ? Number(readFileSync(lock, 'utf8')) : 0)
  await expect.poll(() => read() > 0 && read() !== child.pid, POLL).toBe(true)
  return read()
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** As if its holder had not touched it for long. */
function ageLock(): void {
  const at = Date.now() / 1000 - LONG_AGO_S
  utimesSync(lock, at, at)
}

/** Every file that the page or another file names is there; answers when and as what they were made. */
function readWhole(): string {
  const page = readFileSync(join(dist, 'index.html'), 'utf8')
  const names = new Set(
    [...page.matchAll(/\/app\/assets\/([\w.-]+)/g)].map(([, name]) => name ?? ''),
  )
  expect(names.size).toBeGreaterThan(1)
  for (const name of names) {
    const file = join(dist, 'assets', name)
    expect(existsSync(file), `${name} is there`).toBe(true)
    if (!name.endsWith('.js')) continue
    expect(existsSync(`${file}.br`) || statSync(file).size < 1_000, `${name}.br`).toBe(true)
    for (const [, next] of readFileSync(file, 'utf8').matchAll(/["'`]\.\/([\w.-]+\.js)["'`]/g))
      if (next !== undefined) names.add(next)
  }
  expect(existsSync(`${dist}-next`) || existsSync(`${dist}-last`)).toBe(false)
  expect(existsSync(lock)).toBe(false)
  return `${statSync(join(dist, 'index.html')).mtimeMs} ${readFileSync(join(dist, '.stamp'), 'utf8')}`
}

describe('the build of the dashboard', () => {
  it('is done once when two begin at once, and not again for the same sources', async () => {
    const both = await Promise.all([build(), build()])
    expect(both.map(({ code }) => code)).toEqual([0, 0])
    const said = both.map((one) => one.said).join('')
    expect(said.match(/Building the dashboard/g)).toHaveLength(1)
    expect(said.match(/Waiting for another build/g)).toHaveLength(1)
    const built = readWhole()

    const now = new Date()
    utimesSync(source(), now, now)
    writeFileSync(join(clone, 'packages/dashboard/src/new.test.ts'), 'nothing of the page\n')
    expect(await build()).toEqual({ code: 0, said: '' })
    expect(readWhole()).toBe(built)
  })

  it('leaves the last one when it is killed, and the next start makes it and serves it', async () => {
    const last = readWhole()
    changeSources()
    const killed = begin()
    await expect.poll(() => existsSync(join(`${dist}-next`, 'index.html')), POLL).toBe(true)
    await killed.kill('SIGKILL')
    expect(readdirSync(dist)).toContain('index.html')
    expect(last).toContain(readFileSync(join(dist, '.stamp'), 'utf8'))

    ageLock()
    const port = await findFreePort()
    const started = begin('npm', ['start'], {
      POSTRIDER_PORT: String(port),
      POSTRIDER_INBOUND_PORT: '0',
      POSTRIDER_DATA_DIR: join(clone, 'data'),
    })
    await expect.poll(() => started.said(), POLL).toMatch(/Postrider is running/)
    expect(readWhole()).not.toBe(last)
    const page = await (await fetch(`http://127.0.0.1:${port}/app/`)).text()
    const files = [...page.matchAll(/(?:src|href)="(\/app\/assets\/[^"]+)"/g)]
    expect(files).not.toEqual([])
    for (const [, path] of files)
      expect((await fetch(`http://127.0.0.1:${port}${path}`)).status).toBe(200)
    await started.kill('SIGTERM')
  })

  it('goes on when its command alone is killed, and the next build waits until it has ended', async () => {
    changeSources()
    const orphaned = begin()
    const worker = await workerOf(orphaned)
    orphaned.child.kill('SIGKILL')
    ageLock()
    const next = begin()
    let ranWhenNextBegan: boolean | undefined
    next.child.stderr?.on('data', () => {
      if (next.said().includes('Building')) ranWhenNextBegan ??= isRunning(worker)
    })
    expect(await next.ended).toBe(0)
    expect(next.said()).toMatch(/Waiting for another build[\s\S]*Building the dashboard/)
    expect(ranWhenNextBegan).toBe(false)
    readWhole()
  })

  it('ends with its command when that is asked to end, and the next build need not wait', async () => {
    changeSources()
    const stopped = begin()
    const worker = await workerOf(stopped)
    stopped.child.kill('SIGTERM')
    expect(await stopped.exited).toBe(130)
    expect(existsSync(lock)).toBe(false)
    await stopped.ended
    await expect.poll(() => isRunning(worker), POLL).toBe(false)
    expect(existsSync(join(`${dist}-next`, 'index.html'))).toBe(false)

    const next = await build()
    expect(next).toMatchObject({ code: 0, said: expect.not.stringContaining('Waiting') })
    readWhole()
  })

  it('says how to start without it when it fails, and leaves the last one', async () => {
    const last = readWhole()
    const before = readFileSync(source(), 'utf8')
    writeFileSync(source(), `${before}\nthis is ( no program\n`)
    const failed = await build()
    expect(failed.code).toBe(1)
    expect(failed.said).toContain('POSTRIDER_DASHBOARD=off starts without it')
    expect(last).toContain(readFileSync(join(dist, '.stamp'), 'utf8'))
    const off = begin(process.execPath, ['scripts/build-dashboard.mjs'], {
      POSTRIDER_DASHBOARD: 'off',
    })
    expect(await off.ended).toBe(0)
    writeFileSync(source(), before)
    expect(await build()).toEqual({ code: 0, said: '' })
  })
})
