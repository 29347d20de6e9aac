// In the dark the page is shown inverted: what Redoc has dark begins light then.
if (matchMedia("(prefers-color-scheme: dark)").matches) {
  document.querySelector("redoc").setAttribute("theme", JSON.stringify({
    rightPanel: { backgroundColor: "#eef1f1", textColor: "#263238" },
    codeBlock: { backgroundColor: "#263238" },
  }));
}
