/** The language of the reader: what was chosen here, else what the browser asks for. */
import { useSyncExternalStore } from 'react'
import { readSetting, subscribeSettings, writeSetting } from '../app/settings.ts'

export type Language = 'en' | 'de'

export function useLanguage(): Language {
  return useSyncExternalStore(subscribeSettings, currentLanguage)
}

export function currentLanguage(): Language {
  const chosen = readSetting('language')
  if (chosen === 'en' || chosen === 'de') return chosen
  return navigator.language.toLowerCase().startsWith('de') ? 'de' : 'en'
}

export function chooseLanguage(language: Language): void {
  document.documentElement.lang = language
  writeSetting('language', language)
}
