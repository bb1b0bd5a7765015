#include <string>
/* in main */
std::string text;
while (text.size() < 4000) text += "In the beginning was the word. ";
