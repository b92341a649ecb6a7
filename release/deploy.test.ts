/** The compose file and the manifests for Kubernetes: what they set exists, and they take no right that is not needed. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { readPackageJson, root } from './npm/project.ts'

const deploy = join(root, 'deploy')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const { version } = readPackageJson('.')
const settings = new Set(
  [...read('docs/config.md').matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => `POSTRIDER_${name}`),
)
const unknown = (names: readonly string[]) => names.filter((name) => !settings.has(name))
const image = read('release/image/build-image.ts')
/** The user of the image, and the directory that it may write to. */
const USER = Number(/^export const USER = (\w+)$/m.exec(image)?.[1]?.replace('_', ''))
const DATA_DIR = /^export const DATA_DIR = '(.+)'$/m.exec(image)?.[1] ?? ''

describe('the compose file', () => {
  const text = read('deploy/compose.yaml')
  const { services, volumes } = parse(text)
  const { postrider, postgres } = services

  it('runs the image of this version, once PostgreSQL is ready', () => {
    expect(postrider.image).toBe(`postrider:${version}`)
    expect(postrider.depends_on).toEqual({ postgres: { condition: 'service_healthy' } })
    expect(postgres.healthcheck.test).toContain('pg_isready')
    expect(postrider.healthcheck.test.slice(1)).toEqual([
      ...['/usr/lib/postrider/node', '/usr/lib/postrider/health.cjs'],
    ])
  })

  it('sets variables that exist, and has no secret of its own', () => {
    const names = Object.keys(postrider.environment)
    expect(names.length).toBeGreaterThan(3)
    expect(unknown(names)).toEqual([])
    for (const secret of ['POSTRIDER_SECRET_KEYS', 'POSTRIDER_ADMIN_TOKEN'])
      expect(postrider.environment[secret]).toBe(`\${${secret}:?in .env}`)
    expect(postrider.environment.POSTRIDER_DATABASE_URL).toBe(
      `postgres://${postgres.environment.POSTGRES_USER}:\${POSTGRES_PASSWORD:?in .env}@postgres:5432/${postgres.environment.POSTGRES_DB}`,
    )
    const head = text.slice(0, text.indexOf('name:'))
    const required = [...text.matchAll(/\$\{(\w+):[?-]/g)].map(([, name = '']) => name)
    expect(required.filter((name) => !head.includes(name))).toEqual([])
  })

  it('gets its secrets from a file that the documents make, and that nobody commits', () => {
    const [, commands = ''] = read('docs/operations/deploy.md').split('### With Compose')
    const [, file = ''] = /cat > \.env <<END\n([\s\S]*?)\nEND\n/.exec(commands) ?? []
    const made = file.split('\n').map((line) => line.split('=')[0])
    const required = [...text.matchAll(/\$\{(\w+):\?in \.env\}/g)].map(([, name]) => name)
    expect(made.toSorted()).toEqual([...new Set(required)].toSorted())
    expect(read('.gitignore').split('\n')).toContain('.env')
  })

  it('gives no rights, and keeps data in volumes', () => {
    expect(postrider).toMatchObject({
      ...{ read_only: true, cap_drop: ['ALL'], tmpfs: ['/tmp'] },
      security_opt: ['no-new-privileges:true'],
      volumes: [`data:${DATA_DIR}`],
    })
    expect(Object.keys(volumes)).toEqual(['data', 'database'])
    for (const port of postrider.ports) expect(port).toMatch(/^127\.0\.0\.1:/)
  })
})

interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string }
  // biome-ignore lint/suspicious/noExplicitAny: the schemas of Kubernetes check it
  readonly [key: string]: any
}

/** What the schemas of Kubernetes say against it. They know nothing of fields that do not exist. */
async function faultsOf({ apiVersion, kind, ...rest }: Manifest): Promise<string | undefined> {
  const models = await import(`kubernetes-models/${apiVersion}/${kind}`)
  try {
    new models[kind]({ apiVersion, kind, ...rest }).validate()
    return undefined
  } catch (error) {
    return `${kind} ${rest.metadata.name}: ${(error as Error).message}`
  }
}

describe('the manifests for Kubernetes', () => {
  const folder = join(deploy, 'kubernetes')
  const kustomization = parse(readFileSync(join(folder, 'kustomization.yaml'), 'utf8'))
  const all = (kustomization.resources as string[]).flatMap((file) =>
    parseAllDocuments(readFileSync(join(folder, file), 'utf8')).map(
      (document) => document.toJS() as Manifest,
    ),
  )
  const ofKind = (kind: string) => all.filter((one) => one.kind === kind)
  const deployments = ofKind('Deployment')
  const byComponent = ({ metadata }: Manifest) => metadata.name.replace('postrider-', '')
  const podOf = (one: Manifest) => one.spec.template.spec
  const containerOf = (one: Manifest) => podOf(one).containers[0]

  it('are all in the kustomization, which names the image of this version', () => {
    const files = readdirSync(folder).filter((name) => name !== 'kustomization.yaml')
    expect(kustomization.resources).toEqual(files.sort())
    expect(kustomization.images[0]).toMatchObject({ name: 'postrider', newTag: version })
    for (const one of deployments) expect(containerOf(one).image).toBe('postrider')
  })

  it('fit the schemas of Kubernetes', async () => {
    expect(all.length).toBeGreaterThan(9)
    const faults = await Promise.all(all.map(faultsOf))
    expect(faults.filter((fault) => fault !== undefined)).toEqual([])
    const [first] = deployments
    if (first === undefined) throw new Error('there is no Deployment')
    const { template: _, ...spec } = first.spec
    expect(await faultsOf({ ...first, spec })).toContain('template')
    expect(await faultsOf({ ...first, spec: { ...first.spec, replicas: 'two' } })).toContain(
      'replicas',
    )
  })

  it('divide all roles, each in one Deployment', () => {
    const roles = deployments.flatMap((one) => {
      const { value } = containerOf(one).env.find(
        ({ name }: { name: string }) => name === 'POSTRIDER_ROLES',
      )
      return value.split(',')
    })
    const known = /^\| `ROLES` .* a comma list of all, (.*) \|$/m.exec(read('docs/config.md'))?.[1]
    expect(roles.toSorted()).toEqual(known?.split(', ').toSorted())
  })

  it('set variables that exist, and take the secrets from a Secret', () => {
    const [config] = ofKind('ConfigMap')
    const names = deployments.flatMap((one) =>
      containerOf(one).env.map(({ name }: { name: string }) => name),
    )
    expect(unknown([...Object.keys(config?.data), ...names])).toEqual([])
    const secrets = [...read('docs/operations/deploy.md').matchAll(/--from-literal=(\w+)=/g)]
    expect(secrets.length).toBe(3)
    expect(unknown(secrets.map(([, name = '']) => name))).toEqual([])
    expect(ofKind('Secret')).toEqual([])
    for (const one of deployments)
      expect(containerOf(one).envFrom).toEqual([
        { configMapRef: { name: 'postrider' } },
        { secretRef: { name: 'postrider' } },
      ])
  })

  it('keep the variables away that Kubernetes makes of a Service', () => {
    for (const one of deployments) expect(podOf(one).enableServiceLinks).toBe(false)
  })

  it('fit the restricted standard, with a root that cannot be written', () => {
    for (const one of deployments) {
      const { securityContext, volumes, automountServiceAccountToken } = podOf(one)
      expect(automountServiceAccountToken).toBe(false)
      expect(securityContext).toMatchObject({
        ...{ runAsNonRoot: true, runAsUser: USER, runAsGroup: USER, fsGroup: USER },
        seccompProfile: { type: 'RuntimeDefault' },
      })
      expect(containerOf(one).securityContext).toEqual({
        ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
        capabilities: { drop: ['ALL'] },
      })
      const mounted = containerOf(one).volumeMounts.map((mount: { name: string }) => mount.name)
      expect(volumes.map(({ name }: { name: string }) => name)).toEqual(mounted)
      const paths = containerOf(one).volumeMounts.map((m: { mountPath: string }) => m.mountPath)
      expect(paths).toEqual([DATA_DIR, '/tmp'])
    }
  })

  it('probe what the service answers, and are stopped one at a time', () => {
    for (const one of deployments) {
      const { startupProbe, livenessProbe, readinessProbe, ports } = containerOf(one)
      const paths = [startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet)
      expect(paths).toEqual(
        ['/healthz', '/healthz', '/readyz'].map((path) => ({ path, port: 'http' })),
      )
      expect(ports[0]).toEqual({ name: 'http', containerPort: 8080 })
      expect(one.spec.replicas).toBeGreaterThan(1)
      const budget = ofKind('PodDisruptionBudget').find(
        (b) => b.metadata.name === one.metadata.name,
      )
      expect(budget?.spec).toEqual({ maxUnavailable: 1, selector: one.spec.selector })
      expect(one.spec.template.metadata.labels).toEqual(one.spec.selector.matchLabels)
    }
  })

  it('open the ports of the configuration, and probe paths of the reference', () => {
    const defaultOf = (name: string) =>
      Number(new RegExp(`^\\| \`${name}\` \\| \`(\\d+)\``, 'm').exec(read('docs/config.md'))?.[1])
    const [config] = ofKind('ConfigMap')
    const smtp = Number(config?.data.POSTRIDER_INBOUND_PORT)
    const http = defaultOf('PORT')
    expect([http, smtp]).toEqual([8080, defaultOf('INBOUND_PORT')])
    const opened = deployments.map((one) =>
      containerOf(one).ports.map((port: { containerPort: number }) => port.containerPort),
    )
    expect(opened).toEqual([[http, smtp], [http], [http]])
    const allowed = ofKind('NetworkPolicy').map(({ spec }) => spec.ingress[0].ports[0].port)
    expect(allowed).toEqual([http, smtp])
    const reference = read('docs/reference/running.md')
    for (const path of ['/healthz', '/readyz']) expect(reference).toContain(`\`${path}\``)
  })

  it('lead each Service to a Deployment that listens', () => {
    expect(ofKind('Service').map(({ metadata }) => metadata.name)).toEqual([
      ...['postrider-inbound', 'postrider'],
    ])
    for (const { spec } of ofKind('Service')) {
      const component = spec.selector['app.kubernetes.io/component']
      const target = deployments.find((one) => byComponent(one) === component)
      if (target === undefined) throw new Error(`no Deployment is ${component}`)
      const names = containerOf(target).ports.map(({ name }: { name: string }) => name)
      expect(names).toContain(spec.ports[0].targetPort)
    }
  })
})
