import { describe, expect, it } from 'vitest'
import { chooseLanguage, type PageName, recipientPage } from './page.ts'
import { pageTexts } from './page-texts.ts'

describe('the language of a page', () => {
  it.each([
    ['de', 'de'],
    ['de-AT', 'de'],
    ['FR', 'fr'],
    ['en;q=0.5, nl;q=0.8', 'nl'],
    ['en;q=0, pl;q=0.1', 'pl'],
    ['xx, yy;q=0.9', 'en'],
    ['de;q=0', 'en'],
    ['it ; q=0.4 , pt;q=0.3', 'it'],
    ['es;q=nonsense', 'en'],
    ['constructor, __proto__', 'en'],
    ['*', 'en'],
    ['', 'en'],
  ])('is for %j %s', (header, language) => {
    expect(chooseLanguage(header)).toBe(language)
  })

  it('is found quickly, however long the header is', () => {
    expect(chooseLanguage(`${'a-'.repeat(100_000)},${'de,'.repeat(100_000)}`)).toBe('de')
    expect(chooseLanguage(`a${' '.repeat(300_000)}x, fr`)).toBe('fr')
    expect(chooseLanguage(`${' '.repeat(300_000)}de${' '.repeat(300_000)}`)).toBe('de')
    expect(chooseLanguage(undefined)).toBe('en')
  })
})

describe('a page', () => {
  const names = Object.keys(pageTexts.en ?? {}) as PageName[]
  it.each(Object.keys(pageTexts))('has all its texts in %s', (language) => {
    expect(names).toHaveLength(5)
    for (const name of names) {
      const page = recipientPage(name, language)
      expect(page).toContain(`<html lang="${language}">`)
      expect(page).toMatch(/<title>[^<]+<\/title>.*<h1>[^<]+<\/h1><p>[^<]+<\/p>/s)
      expect(page.includes('<form')).toBe(name === 'unsubscribe')
    }
  })
})
