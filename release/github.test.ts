/** The files in .github have the members that GitHub knows, and actions are pinned to commits. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { type TSchema, Type } from 'typebox'
import { Value } from 'typebox/value'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

const root = new URL('../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')
const closed = { additionalProperties: false }
const text = Type.String({ minLength: 1 })

function errorsOf(shape: TSchema, value: unknown): string[] {
  return [...Value.Errors(shape, value)].map(
    ({ instancePath, message }) => `${instancePath} ${message}`,
  )
}

describe('workflows', () => {
  const workflows = readdirSync(new URL('.github/workflows/', root)).map((name) => ({
    name,
    text: read(`.github/workflows/${name}`),
  }))
  const used = (content: string) => [...content.matchAll(/uses: (.*)$/gm)].map(([, what]) => what)

  it('pin every action to a commit, and name its version', () => {
    const all = workflows.flatMap((one) => used(one.text))
    expect(all.length).toBeGreaterThan(5)
    for (const what of all) expect(what).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
  })

  it('use one version of an action', () => {
    const all = new Set(workflows.flatMap((one) => used(one.text)))
    const actions = [...all].map((what) => what?.split('@')[0])
    expect(actions).toEqual([...new Set(actions)])
  })

  it('give jobs no more rights than to read, unless a job names more', () => {
    for (const one of workflows) {
      const { permissions } = parse(one.text)
      expect([{}, { contents: 'read' }], one.name).toContainEqual(permissions)
    }
  })

  it('end each job within a time', () => {
    for (const one of workflows)
      for (const job of Object.values(parse(one.text).jobs))
        expect(job).toHaveProperty('timeout-minutes', expect.any(Number))
  })

  it('put no expression into a shell program', () => {
    for (const one of workflows)
      for (const job of Object.values<{ steps: { run?: string }[] }>(parse(one.text).jobs))
        for (const { run = '' } of job.steps) expect(run).not.toContain('${{')
  })

  it('run what exists here', () => {
    const scripts = JSON.parse(read('package.json')).scripts
    const runs = workflows.flatMap((one) => [...one.text.matchAll(/npm run ([\w:]+)/g)])
    expect(runs.length).toBeGreaterThan(0)
    for (const [, script] of runs) expect(scripts).toHaveProperty([script ?? ''])
    expect(existsSync(new URL('.ci/run', root))).toBe(true)
  })

  it('use the major version of Node that .nvmrc names', () => {
    const major = read('.nvmrc').trim()
    for (const one of workflows) {
      for (const [, version] of one.text.matchAll(/image: node:(\d+)/g)) expect(version).toBe(major)
      for (const [, version] of one.text.matchAll(/node-version: (\d+)/g))
        expect(version).toBe(major)
    }
  })
})

describe('Dependabot', () => {
  const level = Type.Union(
    ['major', 'minor', 'patch'].map((one) => Type.Literal(`version-update:semver-${one}`)),
  )
  const group = Type.Object(
    {
      'applies-to': Type.Optional(
        Type.Union([Type.Literal('version-updates'), Type.Literal('security-updates')]),
      ),
      'dependency-type': Type.Optional(
        Type.Union([Type.Literal('production'), Type.Literal('development')]),
      ),
      patterns: Type.Optional(Type.Array(text, { minItems: 1 })),
      'update-types': Type.Optional(
        Type.Array(Type.Union(['major', 'minor', 'patch'].map((one) => Type.Literal(one)))),
      ),
    },
    closed,
  )
  const update = Type.Object(
    {
      'package-ecosystem': Type.Union([Type.Literal('npm'), Type.Literal('github-actions')]),
      directory: Type.Optional(Type.Literal('/')),
      directories: Type.Optional(Type.Array(Type.String({ pattern: '^/' }), { minItems: 1 })),
      schedule: Type.Object(
        {
          interval: Type.Literal('weekly'),
          day: Type.Literal('monday'),
          time: Type.String({ pattern: '^\\d\\d:\\d\\d$' }),
        },
        closed,
      ),
      'versioning-strategy': Type.Optional(Type.Literal('increase')),
      'open-pull-requests-limit': Type.Optional(Type.Integer()),
      cooldown: Type.Object({ 'default-days': Type.Integer({ minimum: 1, maximum: 90 }) }, closed),
      'commit-message': Type.Object({ prefix: Type.String({ maxLength: 50 }) }, closed),
      groups: Type.Record(Type.String({ pattern: '^[a-z][a-z-]*$' }), group),
      ignore: Type.Optional(
        Type.Array(
          Type.Object({ 'dependency-name': text, 'update-types': Type.Array(level) }, closed),
        ),
      ),
    },
    closed,
  )
  const shape = Type.Object({ version: Type.Literal(2), updates: Type.Array(update) }, closed)
  const config = parse(read('.github/dependabot.yml'))

  it('has a configuration of the members that it knows', () => {
    expect(errorsOf(shape, config)).toEqual([])
    expect(errorsOf(shape, { ...config, update: [] })).not.toEqual([])
  })

  it('looks at every lock file of npm', () => {
    const [npm] = config.updates
    const locks = readdirSync(root, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && entry.name !== 'node_modules')
      .map(({ name }) => name)
      .filter((name) => existsSync(new URL(`${name}/package-lock.json`, root)))
    expect(npm.directories).toEqual(['/', ...locks.map((name) => `/${name}`)])
  })

  it('names packages that exist', () => {
    const lock = Object.keys(JSON.parse(read('package-lock.json')).packages).join('\n')
    const names = config.updates
      .filter((one: { 'package-ecosystem': string }) => one['package-ecosystem'] === 'npm')
      .flatMap(
        ({ groups, ignore }: { groups: object; ignore: { 'dependency-name': string }[] }) => [
          ...Object.values(groups).flatMap(
            ({ patterns = [] }: { patterns?: string[] }) => patterns,
          ),
          ...ignore.map((one) => one['dependency-name']),
        ],
      )
    expect(names.length).toBeGreaterThan(5)
    for (const name of names) expect(lock).toContain(`node_modules/${name.replace('*', '')}`)
  })
})

describe('forms', () => {
  const attributes = Type.Object(
    {
      value: Type.Optional(text),
      label: Type.Optional(text),
      description: Type.Optional(text),
      render: Type.Optional(text),
      options: Type.Optional(
        Type.Array(Type.Union([text, Type.Object({ label: text }, closed)]), { minItems: 2 }),
      ),
    },
    closed,
  )
  const kinds = ['markdown', 'textarea', 'input', 'dropdown', 'checkboxes']
  const element = Type.Object(
    {
      type: Type.Union(kinds.map((kind) => Type.Literal(kind))),
      id: Type.Optional(Type.String({ pattern: '^[\\w-]+$' })),
      attributes,
      validations: Type.Optional(Type.Object({ required: Type.Boolean() }, closed)),
    },
    closed,
  )
  const body = Type.Array(element, { minItems: 1 })
  const issue = Type.Object(
    { name: text, description: text, labels: Type.Array(text), body },
    closed,
  )
  const discussion = Type.Object({ body }, closed)
  const filesOf = (folder: string) =>
    readdirSync(new URL(`.github/${folder}/`, root)).map((name) => `.github/${folder}/${name}`)
  const issues = filesOf('ISSUE_TEMPLATE').filter((path) => !path.endsWith('/config.yml'))
  const discussions = filesOf('DISCUSSION_TEMPLATE')

  it.each([...issues, ...discussions])('%s has the members that GitHub knows', (path) => {
    const form = parse(read(path))
    expect(errorsOf(path.includes('/ISSUE') ? issue : discussion, form)).toEqual([])
    const ids = form.body.flatMap(({ id }: { id?: string }) => id ?? [])
    expect(ids).toEqual([...new Set(ids)])
    for (const { type, attributes: of } of form.body)
      expect(of, path).toHaveProperty(type === 'markdown' ? 'value' : 'label')
  })

  it('a form with another member is refused', () => {
    const form = parse(read(issues[0] ?? ''))
    expect(errorsOf(issue, { ...form, tittle: 'x' })).not.toEqual([])
    expect(errorsOf(issue, { ...form, body: [{ type: 'text', attributes: {} }] })).not.toEqual([])
  })

  it('allow no issue without a form, and lead weaknesses to the private one', () => {
    const config = parse(read('.github/ISSUE_TEMPLATE/config.yml'))
    const { homepage } = JSON.parse(read('package.json'))
    const link = Type.Object({ name: text, url: text, about: text }, closed)
    const shape = { blank_issues_enabled: Type.Literal(false), contact_links: Type.Array(link) }
    expect(errorsOf(Type.Object(shape, closed), config)).toEqual([])
    const [weakness] = config.contact_links
    expect(weakness.url).toBe(homepage.replace('#readme', '/security/advisories/new'))
  })
})
