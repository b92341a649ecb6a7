import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { describe, expect, it } from 'vitest'
import { generatePages } from './generate-docs.ts'

describe('the generated reference', () => {
  it.each(generatePages().map((page) => [basename(page.file.pathname), page] as const))(
    '%s is up to date (`npm run docs` renews it)',
    (_name, { file, text }) => {
      expect(readFileSync(file, 'utf8')).toBe(text)
    },
  )
})
