// The API key or token with which a page sends its requests.

// tabSecret returns an object that holds a secret: value is the secret or an empty text,
// keep(text) sets it and forget() removes it. It is kept in sessionStorage under the given
// name: a reload keeps it, and closing the tab ends it. Without storage, a reload ends it.
export function tabSecret(name) {
  const ignoringErrors = (use) => {
    try {
      return use();
    } catch {
      return null; // browsers can forbid storage
    }
  };
  return {
    value: ignoringErrors(() => sessionStorage.getItem(name)) ?? '',
    keep(text) {
      this.value = text;
      ignoringErrors(() => sessionStorage.setItem(name, text));
    },
    forget() {
      this.value = '';
      ignoringErrors(() => sessionStorage.removeItem(name));
    },
  };
}
