/** How much the dashboard lets a browser load: by gzip. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it } from 'vitest'
import { buildDashboard } from './house.ts'

const DIST = new URL('../../packages/dashboard/dist/', import.meta.url)
const ASSETS = new URL('assets/', DIST)
const KB = 1_000
const FIRST_SCREEN_MAX = 280 * KB
const ALL_MAX = 380 * KB
const CSS_MAX = 60 * KB
/** The Latin letters alone are loaded by most; browsers load the others when a page needs them. */
const FONTS_MAX = 350 * KB

function namesOf(ending: string): string[] {
  return readdirSync(ASSETS).filter((name) => name.endsWith(ending))
}

function gzipBytes(name: string): number {
  return gzipSync(readFileSync(new URL(name, ASSETS)), { level: 9 }).length
}

function sum(sizes: readonly number[]): number {
  return sizes.reduce((all, one) => all + one, 0)
}

/** The entry of the page and all that it imports before it does anything. */
function chunksOfFirstScreen(): string[] {
  const html = readFileSync(new URL('index.html', DIST), 'utf8')
  const found = new Set(
    [...html.matchAll(/<script[^>]+src="\/app\/assets\/([^"]+)"/g)].map(([, name]) => name ?? ''),
  )
  for (const name of found) {
    const code = readFileSync(new URL(name, ASSETS), 'utf8')
    for (const [, next] of code.matchAll(/(?:\bimport|\bfrom)\s*["']\.\/([^"']+\.js)["']/g))
      if (next !== undefined) found.add(next)
  }
  return [...found]
}

describe('the budget of the dashboard', () => {
  beforeAll(() => buildDashboard())

  it('is 280 kB of scripts for the first screen', () => {
    const chunks = chunksOfFirstScreen()
    expect(chunks).not.toEqual([])
    expect(chunks.length).toBeLessThan(namesOf('.js').length)
    expect(sum(chunks.map(gzipBytes))).toBeLessThanOrEqual(FIRST_SCREEN_MAX)
  })

  it('is 380 kB of scripts in all', () => {
    expect(sum(namesOf('.js').map(gzipBytes))).toBeLessThanOrEqual(ALL_MAX)
  })

  it('is 60 kB of styles, and 350 kB of fonts', () => {
    expect(sum(namesOf('.css').map(gzipBytes))).toBeLessThanOrEqual(CSS_MAX)
    const fonts = namesOf('.woff2').map((name) => statSync(new URL(name, ASSETS)).size)
    expect(fonts).not.toEqual([])
    expect(sum(fonts)).toBeLessThanOrEqual(FONTS_MAX)
  })

  it('has no font or script that is inlined', () => {
    for (const name of [...namesOf('.css'), ...namesOf('.js')])
      expect(readFileSync(new URL(name, ASSETS), 'utf8')).not.toMatch(
        /data:(?:font|text\/javascript)/,
      )
  })
})
